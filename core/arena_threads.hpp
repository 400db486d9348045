// How many threads a task arena has. Whoever includes this links TBB::tbb.
#pragma once

#include <fmt/format.h>
#include <oneapi/tbb/task_arena.h>

#include <cstdint>

#include "garuda/error.hpp"
#include "garuda/run.hpp"

namespace garuda {

/// Errors: usage for more threads than a call takes.
inline Result<void> check_threads(std::uint32_t threads) {
  if (threads <= kMostThreads) return {};
  return fail(ErrorCode::usage, fmt::format("threads must be at most {}: {}", kMostThreads, threads));
}

/// An option's number of threads as a task arena takes it; 0: as many as the process may have. Requires: it passed
/// check_threads, for an arena has a slot a thread.
inline int arena_threads(std::uint32_t threads) noexcept {
  return threads == 0 ? oneapi::tbb::task_arena::automatic : static_cast<int>(threads);
}

}  // namespace garuda
