#include "operators/lane_scheduler.hpp"

#include <new>
#include <utility>

#include "operators/group_states.hpp"

namespace garuda::operators {

template <class Chunk>
BasicLaneScheduler<Chunk>::BasicLaneScheduler(std::size_t num_tasks, std::uint32_t lanes, std::uint64_t buffered_rows,
                                              Work work)
    : work_(std::move(work)), buffer_limit_rows_(buffered_rows), queues_(num_tasks) {
  GARUDA_EXPECTS(lanes > 0);
  lanes_.reserve(lanes);
  for (std::uint32_t lane = 0; lane < lanes && lane < num_tasks; ++lane)
    lanes_.emplace_back([this, lane] { run_lane(lane); });
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
  } catch (std::bad_alloc const&) {
    fail_with(Error(ErrorCode::out_of_memory, "out of host memory while working on a partition"));
  } catch (...) {
    {
      std::lock_guard const lock(mutex_);
      if (!exception_) exception_ = std::current_exception();
      stopping_ = true;
    }
    changed_.notify_all();
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

template class BasicLaneScheduler<PairChunk>;
template class BasicLaneScheduler<BatchChunk>;
template class BasicLaneScheduler<GroupChunk>;

}  // namespace garuda::operators
