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
#include <vector>

#include "garuda/error.hpp"
#include "garuda/table.hpp"

namespace garuda::operators {

/// Matching rows as row ids of the two tables, equally many.
struct PairChunk {
  std::vector<std::int64_t> left;
  std::vector<std::int64_t> right;

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

  /// Starts `lanes` threads on tasks 0 … num_tasks - 1; at most `buffered_rows` rows wait ahead of the task being read.
  BasicLaneScheduler(std::size_t num_tasks, std::uint32_t lanes, std::uint64_t buffered_rows, Work work);
  BasicLaneScheduler(BasicLaneScheduler const&) = delete;
  BasicLaneScheduler& operator=(BasicLaneScheduler const&) = delete;
  /// Stops after the tasks' present steps and waits for the lanes.
  ~BasicLaneScheduler();

  /// Returns the next chunk, or nullopt after the last task. Blocks. One consumer.
  /// Errors: the first that any task met. A LogicError of a task is thrown here.
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

using LaneScheduler = BasicLaneScheduler<PairChunk>;
using BatchScheduler = BasicLaneScheduler<BatchChunk>;

}  // namespace garuda::operators
