// Task arenas of a call: how many threads take its loops, and where they run. Whoever includes this links TBB::tbb.
#pragma once

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <atomic>
#include <cstdint>

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

}  // namespace garuda
