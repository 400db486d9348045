#include "core/os/processor.hpp"

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

}  // namespace garuda::os
