#include "operators/host_memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace garuda::operators {
namespace {

std::uint64_t number_in(char const* path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : 0;  // "max" in memory.max: no limit
}

std::uint64_t available_bytes() {
  std::ifstream meminfo("/proc/meminfo");
  std::string name;
  std::uint64_t kib = 0;
  while (meminfo >> name >> kib) {
    if (name == "MemAvailable:") return kib * 1024;
    meminfo.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

}  // namespace

std::uint64_t free_host_bytes() {
  auto const available = available_bytes();
  auto const limit = number_in("/sys/fs/cgroup/memory.max");
  if (limit == 0) return available;
  auto const used = number_in("/sys/fs/cgroup/memory.current");
  return std::min(available, limit > used ? limit - used : 1);
}

}  // namespace garuda::operators
