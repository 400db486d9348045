#include "core/os/processor.hpp"

#include <sched.h>
#include <sys/utsname.h>

#include <fstream>
#include <string_view>

#include "core/os/cpuinfo.hpp"

namespace garuda::os {

std::string processor_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  return processor_in(cpuinfo);
}

std::optional<System> system() {
  utsname names{};
  if (::uname(&names) != 0) return std::nullopt;
  std::string_view const release(names.release);
  // The text behind the number is whatever whoever built the kernel called it.
  return System{names.sysname, std::string(release.substr(0, release.find_first_not_of("0123456789."))), names.machine};
}

std::optional<unsigned> current_processor() noexcept {
  auto const processor = ::sched_getcpu();
  return processor < 0 ? std::nullopt : std::optional(static_cast<unsigned>(processor));
}

void leave_processor(unsigned from) noexcept {
  cpu_set_t allowed;
  // More processors than the set has room for: the system has enough that are idle.
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  auto others = allowed;
  CPU_CLR(from, &others);
  if (CPU_COUNT(&others) == 0 || ::sched_setaffinity(0, sizeof others, &others) != 0) return;
  (void)::sched_setaffinity(0, sizeof allowed, &allowed);
}

}  // namespace garuda::os
