// Parallel loops that can be cancelled between blocks, and how many threads take them. Whoever includes this links
// TBB::tbb.
#pragma once

#include <fmt/format.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/run.hpp"

namespace garuda {

/// Rows handled between two looks at the cancellation flag.
inline constexpr std::uint64_t kBlockRows = std::uint64_t{1} << 16;

inline bool is_cancelled(Control const* control) noexcept { return control != nullptr && control->is_cancelled(); }

inline Result<void> check_cancelled(Control const* control) {
  if (is_cancelled(control)) return fail(ErrorCode::cancelled, "cancelled by the caller");
  return {};
}

/// The first error of several threads. Thread-safe.
class FirstError {
 public:
  void keep(Result<void> result) {
    if (result) return;
    std::lock_guard const lock(mutex_);
    if (!error_) error_ = std::move(result).error();
    failed_ = true;
  }
  bool failed() const noexcept { return failed_; }
  /// The error that was kept. Call when the threads are done.
  Result<void> result() {
    if (error_) return tl::unexpected<Error>(std::move(*error_));
    return {};
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> failed_{false};
  std::optional<Error> error_;
};

/// Calls body(i) for every i below `count` on the threads of the calling task arena, several calls at once, skipping
/// what has not begun when `control` is cancelled. Blocks. `control` may be null. Errors: cancelled.
template <class Body>
Result<void> for_each_block(std::size_t count, Control const* control, Body const& body) {
  GARUDA_TRY(check_cancelled(control));
  if (count == 1) {
    body(std::size_t{0});
    return check_cancelled(control);
  }
  // Isolated: a thread that waits here must not start on an unrelated outer task, which may hold it up for long.
  oneapi::tbb::this_task_arena::isolate([&] {
    oneapi::tbb::parallel_for(oneapi::tbb::blocked_range<std::size_t>(0, count, 1),
                              [&](oneapi::tbb::blocked_range<std::size_t> const& range) {
                                for (auto i = range.begin(); i != range.end() && !is_cancelled(control); ++i) body(i);
                              });
  });
  return check_cancelled(control);
}

/// Calls body(begin, end) for the numbers below `count`, kBlockRows of them at a time, as for_each_block() does.
template <class Body>
Result<void> for_each_range(std::uint64_t count, Control const* control, Body const& body) {
  return for_each_block((count + kBlockRows - 1) / kBlockRows, control, [&](std::size_t block) {
    auto const begin = block * kBlockRows;
    body(begin, begin + kBlockRows < count ? begin + kBlockRows : count);
  });
}

/// for_each_block() whose calls begin in the order of i, each as soon as a thread is free: for blocks that shrink.
template <class Body>
Result<void> for_each_block_in_turn(std::size_t count, Control const* control, Body const& body) {
  GARUDA_TRY(check_cancelled(control));
  std::atomic<std::size_t> next{0};
  oneapi::tbb::this_task_arena::isolate([&] {
    oneapi::tbb::parallel_for(
        oneapi::tbb::blocked_range<std::size_t>(0, count, 1),
        [&](oneapi::tbb::blocked_range<std::size_t> const&) {
          auto const i = next.fetch_add(1, std::memory_order_relaxed);
          if (!is_cancelled(control)) body(i);
        },
        oneapi::tbb::simple_partitioner{});
  });
  return check_cancelled(control);
}

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
