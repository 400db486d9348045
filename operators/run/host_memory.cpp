#include "operators/run/host_memory.hpp"

#include "core/kept_memory.hpp"
#include "core/os/memory.hpp"

namespace garuda::run {

std::uint64_t free_host_bytes() {
  auto const available = os::available_memory_bytes();
  return available == 0 ? 0 : available + KeptMemory::instance().kept_bytes();
}

std::uint64_t total_host_bytes() { return os::total_memory_bytes(); }

std::uint64_t most_kept_host_bytes() {
  constexpr std::uint64_t kKeptShare = 4;
  return total_host_bytes() / kKeptShare;
}

}  // namespace garuda::run
