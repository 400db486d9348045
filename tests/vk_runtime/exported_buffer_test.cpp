#include "vk_runtime/memory/exported_buffer.hpp"

#include <fcntl.h>

#include "tests/vk_runtime/device_fixture.hpp"

namespace garuda::vk {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kExportedBytes = std::uint64_t{1} << 20;

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

class ExportedBufferTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    auto made = ExportedBuffer::create(*device_, kExportedBytes, "exported");
    if (made) {
      buffer_ = std::move(*made);
      return;
    }
    ASSERT_EQ(made.error().code(), ErrorCode::no_device) << made.error().describe();
    EXPECT_THAT(made.error().describe(), HasSubstr("cannot share memory"));
    GTEST_SKIP() << made.error().describe();
  }

  void TearDown() override {
    buffer_ = {};
    DeviceTest::TearDown();
  }

  ExportedBuffer buffer_;
};

TEST_F(ExportedBufferTest, HasMemoryAndAddress) {
  EXPECT_EQ(buffer_.bytes(), kExportedBytes);
  EXPECT_GE(buffer_.memory_bytes(), kExportedBytes);
  EXPECT_NE(buffer_.address(), 0U);
}

TEST_F(ExportedBufferTest, IsOnTheAccountsOfThePool) {
  auto const before = device_->memory().used_bytes();
  {
    auto const other = value_of(ExportedBuffer::create(*device_, kExportedBytes, "another"));
    EXPECT_EQ(device_->memory().used_bytes(), before + other.memory_bytes());
    device_->memory().set_limit_bytes(before + other.memory_bytes());
    auto const refused = ExportedBuffer::create(*device_, kExportedBytes, "one too many");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::limit_exceeded);
    device_->memory().set_limit_bytes(0);
  }
  EXPECT_EQ(device_->memory().used_bytes(), before);
}

TEST_F(ExportedBufferTest, OpensADescriptorForEachImporter) {
  auto first = value_of(buffer_.open_memory());
  auto const second = value_of(buffer_.open_memory());
  EXPECT_NE(first.get(), second.get());
  EXPECT_TRUE(is_open(first.get()));
  auto const taken = os::FileDescriptor(first.take());
  EXPECT_EQ(first.get(), -1);
  EXPECT_TRUE(is_open(taken.get()));
}

TEST_F(ExportedBufferTest, ClosesItsDescriptors) {
  int fd = -1;
  {
    auto const opened = value_of(buffer_.open_memory());
    fd = opened.get();
  }
  EXPECT_FALSE(is_open(fd));
}

TEST_F(ExportedBufferTest, FailsAsOtherAllocationsDo) {
  auto const too_large = ExportedBuffer::create(*device_, device_->traits().limits.max_buffer_size + 1, "too large");
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().code(), ErrorCode::limit_exceeded);
  device_->memory().inject_failure(1);
  auto const injected = ExportedBuffer::create(*device_, kExportedBytes, "injected");
  ASSERT_FALSE(injected);
  EXPECT_EQ(injected.error().code(), ErrorCode::out_of_memory);
}

}  // namespace
}  // namespace garuda::vk
