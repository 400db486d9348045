#include "core/kept_memory.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "core/buffer.hpp"

namespace garuda {
namespace {

constexpr std::int64_t kBytes = 3 * kHugePageBytes + 5;

/// Sanitized builds take every buffer from the heap.
bool buffers_are_mapped() {
  auto& kept = KeptMemory::instance();
  kept.give_back_all();
  { auto const buffer = AlignedBuffer::allocate(kBytes).value(); }
  return kept.kept_bytes() > 0;
}

TEST(KeptMemory, IsUsedAgainByBuffersOfAboutItsSize) {
  if (!buffers_are_mapped()) GTEST_SKIP() << "buffers of this build are not mappings";
  auto& kept = KeptMemory::instance();
  kept.give_back_all();
  std::byte const* address = nullptr;
  {
    auto buffer = AlignedBuffer::allocate(kBytes).value();
    address = buffer.data();
    std::memset(buffer.data(), 0xFF, static_cast<std::size_t>(buffer.capacity_bytes()));
  }
  auto const bytes = kept.kept_bytes();
  EXPECT_GE(bytes, static_cast<std::size_t>(kBytes));
  auto const larger = AlignedBuffer::allocate(kBytes + kHugePageBytes).value();
  EXPECT_EQ(kept.kept_bytes(), bytes);
  auto const much_smaller = AlignedBuffer::allocate(kHugePageBytes).value();
  EXPECT_EQ(kept.kept_bytes(), bytes);
  auto const smaller = AlignedBuffer::allocate(kBytes - kHugePageBytes / 2).value();
  EXPECT_EQ(smaller.data(), address);
  EXPECT_EQ(kept.kept_bytes(), 0U);
  for (auto i = smaller.size_bytes(); i < smaller.capacity_bytes(); ++i) ASSERT_EQ(smaller.data()[i], std::byte{0});
}

TEST(KeptMemory, StaysWithinItsLimit) {
  if (!buffers_are_mapped()) GTEST_SKIP() << "buffers of this build are not mappings";
  auto& kept = KeptMemory::instance();
  kept.set_limit(static_cast<std::size_t>(2 * kBytes + 2 * kBufferAlignment));
  {
    std::vector<AlignedBuffer> buffers;
    for (int i = 0; i < 5; ++i) buffers.push_back(AlignedBuffer::allocate(kBytes).value());
  }
  auto const bytes = kept.kept_bytes();
  EXPECT_GE(bytes, static_cast<std::size_t>(2 * kBytes));
  EXPECT_LE(bytes, static_cast<std::size_t>(2 * kBytes + 2 * kBufferAlignment));
  kept.set_limit(0);
  EXPECT_EQ(kept.kept_bytes(), 0U);
  { auto const buffer = AlignedBuffer::allocate(kBytes).value(); }
  EXPECT_EQ(kept.kept_bytes(), 0U);
  kept.set_limit(KeptMemory::kDefaultLimit);
}

TEST(KeptMemory, ServesSeveralThreads) {
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
  KeptMemory::instance().give_back_all();
  EXPECT_EQ(KeptMemory::instance().kept_bytes(), 0U);
}

}  // namespace
}  // namespace garuda
