// Task arenas of a call: how many threads take its loops, and where they run. Whoever includes this links TBB::tbb.
#pragma once

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/os/processor.hpp"
#include "core/parallel_blocks.hpp"

namespace garuda {

/// Keeps workers of an arena off the processor of the thread that they help: there they would take turns with it.
class WorkersElsewhere : public oneapi::tbb::task_scheduler_observer {
 public:
  explicit WorkersElsewhere(oneapi::tbb::task_arena& arena) : task_scheduler_observer(arena) { observe(true); }
  WorkersElsewhere(WorkersElsewhere const&) = delete;
  WorkersElsewhere& operator=(WorkersElsewhere const&) = delete;
  ~WorkersElsewhere() override { observe(false); }

  void on_scheduler_entry(bool is_worker) override {
    auto const here = os::current_processor();
    if (!here) return;
    if (!is_worker)
      helped_ = *here;
    else if (*here == helped_)
      os::leave_processor(*here);
  }

 private:
  static constexpr unsigned kNone = ~0U;
  std::atomic<unsigned> helped_{kNone};  ///< processor of the thread that entered last
};

/// Calls `body`, whose loops take as many threads as an option says (arena_threads). A call within another one has the
/// threads of that one, where these are as many, so that loops of loops together take no more. Blocks.
template <class Body>
auto on_threads(std::uint32_t threads, Body const& body) {
  namespace tbb = oneapi::tbb;
  auto const wanted = threads == 0 ? tbb::info::default_concurrency() : arena_threads(threads);
  bool const is_within = tbb::this_task_arena::current_thread_index() != tbb::task_arena::not_initialized;
  if (is_within && tbb::this_task_arena::max_concurrency() == wanted) return body();
  tbb::task_arena arena(arena_threads(threads));
  WorkersElsewhere const workers(arena);
  return arena.execute(body);
}

/// The values of task(i) for each i below `count`, which so many threads find side by side, or the calling one
/// `in_turn`. Blocks until all tasks have ended. Errors: that of the first task that has one.
template <class Task, class Value = typename std::invoke_result_t<Task const&, std::size_t>::value_type>
Result<std::vector<Value>> task_values(std::size_t count, std::uint32_t threads, bool in_turn, Task const& task) {
  std::vector<Result<Value>> found(count);
  auto const find = [&](std::size_t i) { found[i] = task(i); };
  if (in_turn)
    for (std::size_t i = 0; i < count; ++i) find(i);
  else
    on_threads(threads, [&] { oneapi::tbb::parallel_for(std::size_t{0}, count, find); });
  std::vector<Value> values;
  for (auto& one : found) {
    GARUDA_TRY_ASSIGN(auto value, std::move(one));
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace garuda
