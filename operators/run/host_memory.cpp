#include "operators/run/host_memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "core/kept_memory.hpp"

namespace garuda::run {
namespace {

constexpr auto const* kGroupLimit = "/sys/fs/cgroup/memory.max";

std::uint64_t number_in(char const* path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : 0;  // "max" in memory.max: no limit
}

/// A line of the system's memory statistics, in bytes.
std::uint64_t memory_statistic(char const* wanted) {
  std::ifstream meminfo("/proc/meminfo");
  std::string name;
  std::uint64_t kib = 0;
  while (meminfo >> name >> kib) {
    if (name == wanted) return kib * 1024;
    meminfo.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

}  // namespace

std::uint64_t free_host_bytes() {
  auto const available = memory_statistic("MemAvailable:");
  if (available == 0) return 0;
  auto const kept = KeptMemory::instance().kept_bytes();
  auto const limit = number_in(kGroupLimit);
  if (limit == 0) return available + kept;
  auto const used = number_in("/sys/fs/cgroup/memory.current");
  return std::min(available, limit > used ? limit - used : 1) + kept;
}

std::uint64_t total_host_bytes() {
  auto const total = memory_statistic("MemTotal:");
  auto const limit = number_in(kGroupLimit);
  return limit == 0 ? total : std::min(total, limit);
}

std::uint64_t most_kept_host_bytes() {
  constexpr std::uint64_t kKeptShare = 4;
  return total_host_bytes() / kKeptShare;
}

}  // namespace garuda::run
