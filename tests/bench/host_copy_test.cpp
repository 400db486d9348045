#include "bench/parts/host_copy.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/error.hpp"

namespace garuda::bench {
namespace {

TEST(HostCopy, CopiesEveryByteAndNoOther) {
  constexpr std::int64_t kBytes = 1 << 15;
  constexpr std::size_t kMargin = 64;
  auto from = AlignedBuffer::allocate(kBytes);
  auto to = AlignedBuffer::allocate(kBytes);
  ASSERT_TRUE(from && to);
  for (std::size_t i = 0; i < kBytes; ++i) from->data()[i] = static_cast<std::byte>(i * 2'654'435'761U >> 13);
  for (std::size_t const bytes :
       {std::size_t{0}, std::size_t{256}, std::size_t{512}, std::size_t{5'888}, std::size_t{16'384}}) {
    std::memset(to->data(), 0xA5, kBytes);
    copy_past_caches(to->data() + kMargin, from->data() + 2 * kMargin, bytes);
    std::vector<std::byte> expected(kBytes, std::byte{0xA5});
    std::memcpy(expected.data() + kMargin, from->data() + 2 * kMargin, bytes);
    EXPECT_EQ(std::memcmp(to->data(), expected.data(), kBytes), 0) << bytes;
  }
}

TEST(HostCopy, RunsOverWholeBuffers) {
  auto copy = HostCopy::create((std::int64_t{3} << 20) + 256);
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->bytes(), (3U << 20) + 256);
  EXPECT_GT(copy->run(), 0U);
  EXPECT_THROW(static_cast<void>(HostCopy::create(100)), LogicError);
}

}  // namespace
}  // namespace garuda::bench
