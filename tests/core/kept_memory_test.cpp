#include "core/kept_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/buffer.hpp"

namespace garuda {
namespace {

constexpr std::int64_t kBytes = 3 * kHugePageBytes + 5;

constexpr std::size_t kLimit = std::size_t{1} << 28;

class KeptMemoryTest : public ::testing::Test {
 protected:
  KeptMemoryTest() {
    kept_.set_limit(kLimit);
    kept_.give_back_all();
  }
  ~KeptMemoryTest() override { kept_.set_limit(0); }

  void SetUp() override {
    { auto const buffer = AlignedBuffer::allocate(kBytes).value(); }
    // Sanitized builds take every buffer from the heap.
    if (kept_.kept_bytes() == 0) GTEST_SKIP() << "buffers of this build are not mappings";
    kept_.give_back_all();
  }

  KeptMemory& kept_ = KeptMemory::instance();
  std::optional<KeptMemory::Tenancy> tenancy_{std::in_place};
};

std::size_t capacity_of(std::int64_t bytes) {
  return static_cast<std::size_t>(AlignedBuffer::allocate(bytes).value().capacity_bytes());
}

TEST_F(KeptMemoryTest, IsUsedAgainByBuffersOfItsSizeAndSmallerOnes) {
  std::byte const* address = nullptr;
  {
    auto buffer = AlignedBuffer::allocate(kBytes).value();
    address = buffer.data();
    std::memset(buffer.data(), 0xFF, static_cast<std::size_t>(buffer.capacity_bytes()));
  }
  auto const bytes = kept_.kept_bytes();
  EXPECT_EQ(bytes, capacity_of(kBytes));
  auto const larger = AlignedBuffer::allocate(kBytes + kHugePageBytes).value();
  EXPECT_EQ(kept_.kept_bytes(), bytes);
  {
    auto const smaller = AlignedBuffer::allocate(kBytes - kHugePageBytes / 2).value();
    EXPECT_EQ(smaller.data(), address);
    EXPECT_EQ(kept_.kept_bytes(), bytes - static_cast<std::size_t>(smaller.capacity_bytes()));
    for (auto i = smaller.size_bytes(); i < smaller.capacity_bytes(); ++i) ASSERT_EQ(smaller.data()[i], std::byte{0});
  }
  // What was cut is whole again.
  auto const same = AlignedBuffer::allocate(kBytes).value();
  EXPECT_EQ(same.data(), address);
  EXPECT_EQ(kept_.kept_bytes(), 0U);
}

TEST_F(KeptMemoryTest, JoinsWhatWasFreedInAnyOrder) {
  auto const* const address = AlignedBuffer::allocate(8 * kHugePageBytes).value().data();
  std::vector<AlignedBuffer> parts;
  for (int i = 0; i < 8; ++i) parts.push_back(AlignedBuffer::allocate(kHugePageBytes).value());
  EXPECT_EQ(kept_.kept_bytes(), 0U);
  for (auto const i : {3, 1, 2, 7, 0, 5, 6, 4}) parts[static_cast<std::size_t>(i)] = {};
  auto const whole = AlignedBuffer::allocate(8 * kHugePageBytes).value();
  EXPECT_EQ(whole.data(), address);
}

TEST_F(KeptMemoryTest, ServesSmallBuffersFromOneMapping) {
  std::vector<AlignedBuffer> buffers;
  for (int i = 0; i < 20; ++i) buffers.push_back(AlignedBuffer::allocate(100'000).value());
  auto const kept = kept_.kept_bytes();
  EXPECT_GT(kept, 0U);
  for (auto& buffer : buffers) std::memset(buffer.data(), 1, static_cast<std::size_t>(buffer.size_bytes()));
  buffers.clear();
  EXPECT_EQ(kept_.kept_bytes(), kept + 20 * capacity_of(100'000));
}

TEST_F(KeptMemoryTest, StaysWithinItsLimit) {
  kept_.set_limit(2 * capacity_of(kBytes));
  {
    std::vector<AlignedBuffer> buffers;
    for (int i = 0; i < 5; ++i) buffers.push_back(AlignedBuffer::allocate(kBytes).value());
  }
  EXPECT_LE(kept_.kept_bytes(), 2 * capacity_of(kBytes));
  EXPECT_GE(kept_.kept_bytes(), capacity_of(kBytes));
  kept_.set_limit(0);
  EXPECT_EQ(kept_.kept_bytes(), 0U);
  { auto const buffer = AlignedBuffer::allocate(kBytes).value(); }
  EXPECT_EQ(kept_.kept_bytes(), 0U);
}

TEST_F(KeptMemoryTest, GoesWithItsLastTenant) {
  std::optional<KeptMemory::Tenancy> other(std::in_place);
  auto outliving = AlignedBuffer::allocate(kBytes).value();
  { auto const buffer = AlignedBuffer::allocate(kBytes).value(); }
  tenancy_.reset();
  EXPECT_GT(kept_.kept_bytes(), 0U);
  other.reset();
  EXPECT_EQ(kept_.kept_bytes(), 0U);
  outliving = {};
  EXPECT_EQ(kept_.kept_bytes(), 0U);
}

TEST_F(KeptMemoryTest, ServesSeveralThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 50; ++i) {
        auto buffer = AlignedBuffer::allocate(kBytes + t * 4'096).value();
        *buffer.data() = static_cast<std::byte>(t);
        buffer.data()[kBytes - 1] = static_cast<std::byte>(t);
        ASSERT_EQ(*buffer.data(), static_cast<std::byte>(t));
      }
    });
  for (auto& thread : threads) thread.join();
  kept_.give_back_all();
  EXPECT_EQ(kept_.kept_bytes(), 0U);
}

constexpr std::int64_t kSmall = 200'000;

/// On a thread of its own, which has kept nothing yet.
template <class Body>
void on_new_thread(Body const& body) {
  std::thread thread(body);
  thread.join();
}

TEST_F(KeptMemoryTest, AThreadTakesItsLatestSpanOfThatSizeAgain) {
  on_new_thread([] {
    auto first = AlignedBuffer::allocate(kSmall).value();
    auto second = AlignedBuffer::allocate(kSmall).value();
    auto const* const address = first.data();
    second = {};
    first = {};
    // A little smaller is served by a whole span, much smaller by another one.
    auto const smaller = AlignedBuffer::allocate(kSmall * 15 / 16).value();
    EXPECT_EQ(smaller.data(), address);
    for (auto i = smaller.size_bytes(); i < smaller.capacity_bytes(); ++i) ASSERT_EQ(smaller.data()[i], std::byte{0});
    auto const kept = KeptMemory::instance().kept_bytes();
    auto const half = AlignedBuffer::allocate(kSmall / 2).value();
    EXPECT_EQ(KeptMemory::instance().kept_bytes(), kept - static_cast<std::size_t>(half.capacity_bytes()));
  });
}

TEST_F(KeptMemoryTest, AThreadLeavesItsSpansToTheOthers) {
  std::byte const* address = nullptr;
  on_new_thread([&] {
    auto const buffer = AlignedBuffer::allocate(kSmall).value();
    address = buffer.data();
  });
  auto const kept = kept_.kept_bytes();
  EXPECT_GE(kept, capacity_of(kSmall));
  std::vector<AlignedBuffer> buffers;
  while (kept_.kept_bytes() >= capacity_of(kSmall)) buffers.push_back(AlignedBuffer::allocate(kSmall).value());
  EXPECT_TRUE(std::ranges::any_of(buffers, [=](auto const& buffer) { return buffer.data() == address; }));
}

/// Whatever one thread has for itself, what is beyond its share goes to all.
TEST_F(KeptMemoryTest, AThreadKeepsLittleForItself) {
  for (auto const bytes : {std::int64_t{1} << 20, std::int64_t{1} << 18, std::int64_t{65'536}}) {
    kept_.give_back_all();
    std::vector<AlignedBuffer> buffers;
    for (int i = 0; i < 200; ++i) buffers.push_back(AlignedBuffer::allocate(bytes).value());
    auto const before = kept_.kept_bytes();
    on_new_thread([&] { buffers.clear(); });
    EXPECT_EQ(kept_.kept_bytes(), before + 200 * static_cast<std::size_t>(bytes));
    for (int i = 0; i < 200; ++i) buffers.push_back(AlignedBuffer::allocate(bytes).value());
    EXPECT_EQ(kept_.kept_bytes(), before) << "no fresh memory was needed";
  }
}

TEST_F(KeptMemoryTest, SmallSpansStayWithinTheLimit) {
  for (auto const limit : {std::size_t{0}, 3 * capacity_of(kSmall), std::size_t{40} << 20}) {
    kept_.set_limit(limit);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        std::vector<AlignedBuffer> buffers;
        for (int i = 0; i < 100; ++i) buffers.push_back(AlignedBuffer::allocate(kSmall).value());
        buffers.clear();
        EXPECT_LE(kept_.kept_bytes(), limit);
      });
    for (auto& thread : threads) thread.join();
    EXPECT_LE(kept_.kept_bytes(), limit);
  }
  kept_.set_limit(0);
  EXPECT_EQ(kept_.kept_bytes(), 0U);
}

/// Buffers that a thread frees as it ends, after what it had for itself is gone.
TEST_F(KeptMemoryTest, TakesWhatAThreadFreesLast) {
  for (int i = 0; i < 20; ++i)
    on_new_thread([] {
      thread_local std::vector<AlignedBuffer> outliving;
      outliving.reserve(4);
      for (int b = 0; b < 4; ++b) outliving.push_back(AlignedBuffer::allocate(kSmall).value());
      { auto const freed = AlignedBuffer::allocate(kSmall).value(); }
    });
  EXPECT_LE(kept_.kept_bytes(), std::size_t{8} << 20) << "each thread found what the last one left";
  EXPECT_GE(kept_.kept_bytes(), 5 * capacity_of(kSmall));
  kept_.give_back_all();
  EXPECT_EQ(kept_.kept_bytes(), 0U);
}

TEST_F(KeptMemoryTest, TheLimitChangesWhileThreadsKeep) {
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; !done; ++i) {
        auto buffer = AlignedBuffer::allocate(kSmall + 4'096 * (i % 7)).value();
        *buffer.data() = static_cast<std::byte>(t);
        ASSERT_EQ(*buffer.data(), static_cast<std::byte>(t));
      }
    });
  for (int i = 0; i < 200; ++i) {
    kept_.set_limit(i % 2 == 0 ? 0 : kLimit);
    kept_.give_back_all();
    if (i % 20 == 0) KeptMemory::Tenancy const other;
  }
  done = true;
  for (auto& thread : threads) thread.join();
  tenancy_.reset();
  EXPECT_EQ(kept_.kept_bytes(), 0U);
}

TEST_F(KeptMemoryTest, ServesVectors) {
  for (auto const count : {std::size_t{1}, std::size_t{8'191}, std::size_t{8'192}, std::size_t{1} << 19}) {
    KeptVector<std::uint64_t> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(i);
    auto const copy = values;
    auto const moved = std::move(values);
    EXPECT_EQ(copy, moved);
    EXPECT_EQ(moved.back(), count - 1);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(moved.data()) % alignof(std::max_align_t), 0U);
  }
  EXPECT_GT(kept_.kept_bytes(), std::size_t{8} << 19) << "of the largest";
  KeptVector<std::uint64_t> const zeros(std::size_t{1} << 19);
  EXPECT_EQ(std::ranges::count(zeros, 0U), std::ptrdiff_t{1} << 19) << "memory that was used before";
  EXPECT_THROW(KeptVector<std::uint64_t>(std::size_t{1} << 59), std::bad_alloc);
}

}  // namespace
}  // namespace garuda
