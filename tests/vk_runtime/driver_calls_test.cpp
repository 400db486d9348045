// Outcomes of driver calls as results, with a driver made of lambdas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vk_runtime/device/device.hpp"
#include "vk_runtime/device/instance.hpp"
#include "vk_runtime/lane.hpp"
#include "vk_runtime/unique.hpp"

namespace garuda::vk {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Check, SuccessCodesPass) {
  for (VkResult result : {VK_SUCCESS, VK_TIMEOUT, VK_INCOMPLETE, VK_NOT_READY}) EXPECT_TRUE(check(result, "vkCall"));
}

TEST(Check, FailuresCarryTheCallAndTheName) {
  auto const lost = check(VK_ERROR_DEVICE_LOST, "vkQueueSubmit2");
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code(), ErrorCode::device_failure);
  EXPECT_THAT(lost.error().message(), AllOf(HasSubstr("vkQueueSubmit2"), HasSubstr("VK_ERROR_DEVICE_LOST")));
  auto const memory = check(VK_ERROR_OUT_OF_DEVICE_MEMORY, "vkAllocateMemory");
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code(), ErrorCode::out_of_memory);
  auto const unknown = check(static_cast<VkResult>(-123'456), "vkCall");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message(), HasSubstr("-123456"));
}

TEST(Queue, LostDeviceIsADeviceFailure) {
  VolkDeviceTable table{};
  table.vkQueueSubmit2 = [](VkQueue, std::uint32_t, VkSubmitInfo2 const*, VkFence) { return VK_ERROR_DEVICE_LOST; };
  Queue queue({VK_NULL_HANDLE, &table}, VK_NULL_HANDLE, 0);
  auto const submitted = queue.submit({.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2});
  ASSERT_FALSE(submitted);
  EXPECT_EQ(submitted.error().code(), ErrorCode::device_failure);
}

int destroyed = 0;

TEST(Unique, DestroysOnceAndMoves) {
  VolkDeviceTable table{};
  table.vkDestroyBuffer = [](VkDevice, VkBuffer, VkAllocationCallbacks const*) { ++destroyed; };
  DeviceHandle const parent{VK_NULL_HANDLE, &table};
  auto const handle = [](std::uintptr_t value) { return reinterpret_cast<VkBuffer>(value); };
  destroyed = 0;
  {
    Unique<VkBuffer> a(parent, handle(1));
    Unique<VkBuffer> b(std::move(a));
    EXPECT_FALSE(a);
    EXPECT_EQ(b.get(), handle(1));
    b = Unique<VkBuffer>(parent, handle(2));
    EXPECT_EQ(destroyed, 1);
    Unique<VkBuffer>& alias = b;
    b = std::move(alias);
    EXPECT_EQ(b.get(), handle(2));
    b.reset();
    EXPECT_EQ(destroyed, 2);
  }
  EXPECT_EQ(destroyed, 2);
}

TEST(SplitGroups, CoversEveryCountWithinTheLimits) {
  EXPECT_EQ(split_groups(0, 65'535, 65'535), (GroupCounts{0, 0}));
  EXPECT_EQ(split_groups(1, 65'535, 65'535), (GroupCounts{1, 1}));
  EXPECT_EQ(split_groups(65'535, 65'535, 65'535), (GroupCounts{65'535, 1}));
  EXPECT_EQ(split_groups(65'536, 65'535, 65'535), (GroupCounts{32'768, 2}));
  EXPECT_EQ(split_groups(std::uint64_t{65'535} * 65'535, 65'535, 65'535), (GroupCounts{65'535, 65'535}));
  EXPECT_THROW(split_groups(std::uint64_t{65'535} * 65'535 + 1, 65'535, 65'535), LogicError);
  // Parts of several rows have a row each, as far as the limit goes.
  EXPECT_EQ(split_groups(65'535, 65'535, 65'535, 10), (GroupCounts{65'535, 1}));
  EXPECT_EQ(split_groups(65'536, 65'535, 65'535, 10), (GroupCounts{6'554, 10}));
  for (std::uint64_t groups = 1; groups < 500; ++groups) {
    for (std::uint32_t const parts : {1U, 9U, 200U}) {
      GroupCounts const counts = split_groups(groups, 7, 100, parts);
      std::uint64_t const covered = std::uint64_t{counts.x} * counts.y;
      EXPECT_LE(counts.x, 7U);
      EXPECT_LE(counts.y, 100U);
      if (groups > 7) {  // rows as short as so many parts ask for
        auto const rows = std::clamp<std::uint64_t>(parts, (groups + 6) / 7, 100);
        EXPECT_EQ(counts.x, (groups + rows - 1) / rows);
      }
      EXPECT_GE(covered, groups);
      EXPECT_LT(covered - groups, counts.y);
      EXPECT_LT(covered - groups, counts.x) << "no row is past the end";
    }
  }
}

}  // namespace
}  // namespace garuda::vk
