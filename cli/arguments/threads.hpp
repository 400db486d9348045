// The limit on threads that --threads sets.
#pragma once

#include <cstdint>
#include <memory>

#include "garuda/error.hpp"

namespace garuda::cli {

/// Sets how many threads read and write files beside oneTBB's, Arrow's, and returns how many did; 0: there are none.
/// Requires: threads > 0.
Result<std::uint32_t> set_file_threads(std::uint32_t threads);

/// Limits the threads of oneTBB and of Arrow to `threads` while it lives; 0 leaves them.
class ThreadLimit {
 public:
  static Result<ThreadLimit> set(std::uint32_t threads);
  ThreadLimit(ThreadLimit&&) noexcept;
  ThreadLimit& operator=(ThreadLimit&&) noexcept;
  ~ThreadLimit();

 private:
  struct Limit;
  explicit ThreadLimit(std::unique_ptr<Limit> limit);
  std::unique_ptr<Limit> limit_;
};

}  // namespace garuda::cli
