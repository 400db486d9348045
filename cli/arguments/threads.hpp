// The limit on threads that --threads sets.
#pragma once

#include <tbb/global_control.h>

#include <cstdint>
#include <optional>

namespace garuda::cli {

/// Limits the threads of oneTBB to `threads` while it lives; 0 leaves them.
class ThreadLimit {
 public:
  explicit ThreadLimit(std::uint32_t threads) {
    if (threads != 0) control_.emplace(tbb::global_control::max_allowed_parallelism, threads);
  }
  ThreadLimit(ThreadLimit const&) = delete;
  ThreadLimit& operator=(ThreadLimit const&) = delete;

 private:
  std::optional<tbb::global_control> control_;
};

}  // namespace garuda::cli
