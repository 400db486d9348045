// Calls within calls share the threads of the outermost one.
#include "core/task_threads.hpp"

#include <gtest/gtest.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace garuda {
namespace {

int threads_here() { return oneapi::tbb::this_task_arena::max_concurrency(); }

TEST(TaskThreads, ACallHasAsManyThreadsAsItIsGiven) {
  EXPECT_EQ(on_threads(1, threads_here), 1);
  EXPECT_EQ(on_threads(3, threads_here), 3);
  EXPECT_EQ(on_threads(0, threads_here), oneapi::tbb::info::default_concurrency());
  EXPECT_EQ(on_threads(3, [] { return on_threads(1, threads_here); }), 1);
}

TEST(TaskThreads, LoopsOfLoopsTakeNoMoreThreads) {
  constexpr int kThreads = 2;
  constexpr int kTasks = 8;
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  std::atomic<int> done{0};
  auto const task = [&](int) {
    auto const now = ++running;
    for (auto known = most.load(); known < now && !most.compare_exchange_weak(known, now);) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    --running;
    ++done;
  };
  on_threads(kThreads, [&] {
    tbb::parallel_for(0, kTasks, [&](int) { on_threads(kThreads, [&] { tbb::parallel_for(0, kTasks, task); }); });
  });
  EXPECT_EQ(done.load(), kTasks * kTasks);
  EXPECT_LE(most.load(), kThreads);
}

}  // namespace
}  // namespace garuda
