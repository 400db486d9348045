// How many threads a task arena has. Whoever includes this links TBB::tbb.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <cstdint>

namespace garuda {

/// An option's number of threads as a task arena takes it; 0: as many as the process may have.
inline int arena_threads(std::uint32_t threads) noexcept {
  return threads == 0 ? oneapi::tbb::task_arena::automatic : static_cast<int>(threads);
}

}  // namespace garuda
