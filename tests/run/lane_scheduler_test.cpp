#include "operators/run/lane_scheduler.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace garuda::run {
namespace {

PairChunk chunk_of(std::int64_t value, std::size_t rows) {
  PairChunk chunk;
  chunk.left.assign(rows, value);
  chunk.right.assign(rows, value);
  return chunk;
}

TEST(LaneScheduler, GivesChunksInTaskOrder) {
  LaneScheduler scheduler(100, 4, 8, 1'000,
                          [](std::uint32_t, std::size_t task, LaneScheduler::Emit const& emit) -> Result<void> {
                            for (std::size_t i = 0; i < task % 5; ++i)
                              if (!emit(chunk_of(static_cast<std::int64_t>(task), 1 + i))) return {};
                            return {};
                          });
  std::int64_t last = -1;
  std::size_t chunks = 0;
  while (true) {
    auto next = scheduler.next();
    ASSERT_TRUE(next);
    if (!*next) break;
    EXPECT_GE((*next)->left.front(), last);
    last = (*next)->left.front();
    ++chunks;
  }
  EXPECT_EQ(chunks, 200U);
  EXPECT_EQ(last, 99);
}

TEST(LaneScheduler, BoundsWhatWaits) {
  constexpr std::uint64_t kLimit = 10;
  std::atomic<std::uint64_t> emitted{0};
  std::uint64_t read = 0;
  LaneScheduler scheduler(50, 3, kLimit, 2'000,
                          [&](std::uint32_t, std::size_t, LaneScheduler::Emit const& emit) -> Result<void> {
                            for (int i = 0; i < 20; ++i) {
                              if (!emit(chunk_of(0, 2))) return {};
                              emitted += 2;
                            }
                            return {};
                          });
  while (true) {
    auto next = scheduler.next();
    ASSERT_TRUE(next);
    if (!*next) break;
    read += (*next)->size();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    EXPECT_LE(emitted.load(), read + kLimit + 2);
  }
  EXPECT_EQ(read, 2000U);
}

TEST(LaneScheduler, PassesTheFirstErrorOn) {
  LaneScheduler scheduler(10, 2, 100, 0,
                          [](std::uint32_t, std::size_t task, LaneScheduler::Emit const&) -> Result<void> {
                            if (task == 3) return fail(ErrorCode::device_failure, "device lost");
                            return {};
                          });
  while (true) {
    auto next = scheduler.next();
    if (!next) {
      EXPECT_EQ(next.error().code(), ErrorCode::device_failure);
      break;
    }
    ASSERT_TRUE(*next) << "the error was lost";
  }
}

TEST(LaneScheduler, ABadAllocIsAnErrorAndALogicErrorIsThrown) {
  LaneScheduler memory(1, 1, 1, 2, [](std::uint32_t, std::size_t, LaneScheduler::Emit const&) -> Result<void> {
    throw std::bad_alloc();
  });
  auto const next = memory.next();
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code(), ErrorCode::out_of_memory);

  LaneScheduler bug(1, 1, 1, 2, [](std::uint32_t, std::size_t, LaneScheduler::Emit const&) -> Result<void> {
    GARUDA_EXPECTS(false);
    return {};
  });
  EXPECT_THROW(static_cast<void>(bug.next()), LogicError);
}

TEST(LaneScheduler, StopsWhenTheConsumerLeaves) {
  std::atomic<int> running{0};
  {
    LaneScheduler scheduler(1000, 4, 4, 1'000'000,
                            [&](std::uint32_t, std::size_t, LaneScheduler::Emit const& emit) -> Result<void> {
                              ++running;
                              while (emit(chunk_of(1, 1))) {
                              }
                              --running;
                              return {};
                            });
    ASSERT_TRUE(scheduler.next());
  }
  EXPECT_EQ(running.load(), 0);
}

TEST(LaneScheduler, RunsOneTaskOfFewRowsInTheConsumersThread) {
  LaneScheduler scheduler(1, 2, 3, 3,
                          [](std::uint32_t lane, std::size_t, LaneScheduler::Emit const& emit) -> Result<void> {
                            EXPECT_EQ(lane, 0U);
                            EXPECT_TRUE(emit(chunk_of(1, 1)));
                            EXPECT_TRUE(emit(chunk_of(2, 2)));
                            return fail(ErrorCode::device_failure, "device lost");
                          });
  EXPECT_FALSE(scheduler.next());

  auto const caller = std::this_thread::get_id();
  LaneScheduler whole(1, 2, 3, 3, [&](std::uint32_t, std::size_t, LaneScheduler::Emit const& emit) -> Result<void> {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_TRUE(emit(chunk_of(1, 1)) && emit(chunk_of(2, 2)));
    return {};
  });
  EXPECT_EQ((*whole.next())->size(), 1U);
  EXPECT_EQ((*whole.next())->size(), 2U);
  EXPECT_FALSE(*whole.next());
}

TEST(LaneScheduler, NoTasksEndAtOnce) {
  LaneScheduler scheduler(0, 2, 1, 0,
                          [](std::uint32_t, std::size_t, LaneScheduler::Emit const&) -> Result<void> { return {}; });
  auto const next = scheduler.next();
  ASSERT_TRUE(next);
  EXPECT_FALSE(*next);
}

}  // namespace
}  // namespace garuda::run
