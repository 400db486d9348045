// Runs numbered tasks on a few host threads ("lanes") and hands what they make over in task order.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/shortage.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"

namespace garuda::run {

/// Matching rows as row ids of the two tables, equally many.
struct PairChunk {
  KeptVector<std::int64_t> left;
  KeptVector<std::int64_t> right;

  std::size_t size() const noexcept { return left.size(); }
};

/// Rows of a result, finished.
struct BatchChunk {
  Batch batch;

  std::size_t size() const noexcept { return static_cast<std::size_t>(batch.num_rows); }
};

/// `Chunk`: a movable piece of a task's result whose size() is its number of rows.
/// Each lane takes the next task, runs it and emits chunks; the consumer reads all chunks of task 0, then of task 1, ….
/// A lane whose chunk would exceed the buffer waits, unless its task is the one being read: so memory stays bounded and
/// the consumer never starves.
template <class Chunk>
class BasicLaneScheduler {
 public:
  /// Passes a chunk on; blocks while the buffer is full. Returns false when the scheduler is stopping.
  using Emit = std::function<bool(Chunk&&)>;
  /// Runs one task on one lane. Called concurrently from different lanes.
  using Work = std::function<Result<void>(std::uint32_t lane, std::size_t task, Emit const& emit)>;

  /// Starts `lanes` threads, or as many as there can be, on tasks 0 … num_tasks - 1; at most `buffered_rows` rows wait
  /// ahead of the task being read. `most_rows`: bound of the rows of all tasks. A single task whose rows fit the buffer
  /// is run by the first next(), since starting a thread takes longer than a small join.
  BasicLaneScheduler(std::size_t num_tasks, std::uint32_t lanes, std::uint64_t buffered_rows, std::uint64_t most_rows,
                     Work work);
  BasicLaneScheduler(BasicLaneScheduler const&) = delete;
  BasicLaneScheduler& operator=(BasicLaneScheduler const&) = delete;
  /// Stops after the tasks' present steps and waits for the lanes.
  ~BasicLaneScheduler();

  /// Returns the next chunk, or nullopt after the last task. Blocks. One consumer.
  /// Errors: the first that any task met; out_of_memory when no thread could be started. A LogicError of a task is
  /// thrown here.
  Result<std::optional<Chunk>> next();

  /// True once a task failed or the consumer went away: long tasks look at it between steps.
  bool is_stopping() const;

 private:
  struct TaskQueue {
    std::deque<Chunk> chunks;
    bool finished = false;
  };

  void run_lane(std::uint32_t lane);
  void run_task(std::uint32_t lane, std::size_t task);
  bool emit(std::size_t task, Chunk&& chunk);
  void fail_with(Error error);
  /// For catch blocks: lack of memory or threads is an error, anything else is thrown again by next().
  void fail_with_current_exception(char const* what_failed);

  Work work_;
  std::uint64_t const buffer_limit_rows_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<TaskQueue> queues_;  // one a task
  std::size_t next_task_ = 0;      // first that no lane has taken
  std::size_t reading_ = 0;        // the consumer's task
  std::uint64_t buffered_rows_ = 0;
  bool stopping_ = false;
  std::optional<Error> error_;
  std::exception_ptr exception_;
  std::vector<std::thread> lanes_;  // last: its threads use everything above
};

template <class Chunk>
BasicLaneScheduler<Chunk>::BasicLaneScheduler(std::size_t num_tasks, std::uint32_t lanes, std::uint64_t buffered_rows,
                                              std::uint64_t most_rows, Work work)
    : work_(std::move(work)), buffer_limit_rows_(buffered_rows), queues_(num_tasks) {
  GARUDA_EXPECTS(lanes > 0);
  if (num_tasks == 1 && most_rows <= buffered_rows) return;
  lanes_.reserve(lanes);
  for (std::uint32_t lane = 0; lane < lanes && lane < num_tasks; ++lane) try {
      lanes_.emplace_back([this, lane] { run_lane(lane); });
    } catch (...) {
      // Fewer lanes take all tasks as well.
      if (lanes_.empty()) fail_with_current_exception("cannot work on partitions");
      break;
    }
}

template <class Chunk>
BasicLaneScheduler<Chunk>::~BasicLaneScheduler() {
  {
    std::lock_guard const lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (auto& lane : lanes_) lane.join();
}

template <class Chunk>
bool BasicLaneScheduler<Chunk>::is_stopping() const {
  std::lock_guard const lock(mutex_);
  return stopping_;
}

template <class Chunk>
Result<std::optional<Chunk>> BasicLaneScheduler<Chunk>::next() {
  if (lanes_.empty()) run_lane(0);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] {
      return stopping_ || reading_ == queues_.size() || !queues_[reading_].chunks.empty() || queues_[reading_].finished;
    });
    if (exception_) std::rethrow_exception(exception_);
    if (error_) return tl::unexpected<Error>(*error_);
    if (reading_ == queues_.size()) return std::nullopt;
    auto& queue = queues_[reading_];
    if (!queue.chunks.empty()) {
      auto chunk = std::move(queue.chunks.front());
      queue.chunks.pop_front();
      buffered_rows_ -= chunk.size();
      changed_.notify_all();
      return chunk;
    }
    ++reading_;  // finished and drained
    changed_.notify_all();
  }
}

template <class Chunk>
void BasicLaneScheduler<Chunk>::run_lane(std::uint32_t lane) {
  while (true) {
    std::size_t task = 0;
    {
      std::lock_guard const lock(mutex_);
      if (stopping_ || next_task_ == queues_.size()) return;
      task = next_task_++;
    }
    run_task(lane, task);
    {
      std::lock_guard const lock(mutex_);
      queues_[task].finished = true;
    }
    changed_.notify_all();
  }
}

template <class Chunk>
void BasicLaneScheduler<Chunk>::run_task(std::uint32_t lane, std::size_t task) {
  try {
    auto done = work_(lane, task, [this, task](Chunk&& chunk) { return emit(task, std::move(chunk)); });
    if (!done) fail_with(std::move(done).error());
  } catch (...) {
    fail_with_current_exception("cannot work on a partition");
  }
}

template <class Chunk>
bool BasicLaneScheduler<Chunk>::emit(std::size_t task, Chunk&& chunk) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock,
                [&] { return stopping_ || task == reading_ || buffered_rows_ + chunk.size() <= buffer_limit_rows_; });
  // The task being read may run ahead of its reader by one buffer at most.
  if (!stopping_ && task == reading_)
    changed_.wait(lock, [&] {
      return stopping_ || queues_[task].chunks.empty() || buffered_rows_ + chunk.size() <= buffer_limit_rows_;
    });
  if (stopping_) return false;
  buffered_rows_ += chunk.size();
  queues_[task].chunks.push_back(std::move(chunk));
  changed_.notify_all();
  return true;
}

template <class Chunk>
void BasicLaneScheduler<Chunk>::fail_with(Error error) {
  {
    std::lock_guard const lock(mutex_);
    if (!error_) error_ = std::move(error);
    stopping_ = true;
  }
  changed_.notify_all();
}

template <class Chunk>
void BasicLaneScheduler<Chunk>::fail_with_current_exception(char const* what_failed) {
  if (auto shortage = current_shortage()) return fail_with(std::move(*shortage).wrap(what_failed));
  {
    std::lock_guard const lock(mutex_);
    if (!exception_) exception_ = std::current_exception();
    stopping_ = true;
  }
  changed_.notify_all();
}

using LaneScheduler = BasicLaneScheduler<PairChunk>;
using BatchScheduler = BasicLaneScheduler<BatchChunk>;

}  // namespace garuda::run
