// Budgets of the host's memory.
#pragma once

#include <cstdint>

namespace garuda::run {

/// Bytes that can still be allocated without swapping, as the operating system estimates it, within the process's
/// control group where that is smaller, kept memory included; 0 when it is not known.
std::uint64_t free_host_bytes();

/// Bytes of memory that the host, or the process's control group, has in all; 0 when it is not known.
std::uint64_t total_host_bytes();

/// Most bytes of freed host memory that are kept for later: a quarter of the total.
std::uint64_t most_kept_host_bytes();

}  // namespace garuda::run
