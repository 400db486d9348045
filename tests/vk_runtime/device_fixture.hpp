// A device, under the validation layer where runs have it (tests/test_run.hpp). Every test ends with a look at its
// messages: one of them fails the test.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "core/os/memory.hpp"
#include "tests/test_run.hpp"
#include "tests/unwrap.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/device/device_traits.hpp"
#include "vk_runtime/device/instance.hpp"
#include "vk_runtime/lane.hpp"

namespace garuda::vk {

using garuda::testing::succeed;
using garuda::testing::value_of;

/// The instance that the tests of a process share, since loading the validation layer takes long. It goes before main()
/// returns: drivers have destructors of their own after that.
class SharedInstance : public ::testing::Environment {
 public:
  static std::unique_ptr<Instance>& get() {
    static std::unique_ptr<Instance> instance;
    return instance;
  }
  void TearDown() override { get().reset(); }
};
inline ::testing::Environment* const kSharedInstance = ::testing::AddGlobalTestEnvironment(new SharedInstance);

/// One device per test.
class DeviceTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    instance_ = SharedInstance::get().get();
    if (instance_ != nullptr) return;
    auto created = Instance::create({.validation = testing::with_validation()});
    // A missing layer or a broken loader must not look like an absent device.
    if (!created && created.error().code() != ErrorCode::no_device) {
      FAIL() << created.error().describe();
    }
    if (!created) return;
    SharedInstance::get() = std::move(*created);
    instance_ = SharedInstance::get().get();
  }

  void SetUp() override {
    if (instance_ == nullptr) GTEST_SKIP() << "no Vulkan driver";
    auto devices = value_of(instance_->physical_devices());
    physical_ = *std::ranges::min_element(devices, {}, [](PhysicalDevice const& device) {
      return std::pair(unusable_reason(device.traits).has_value(), device.traits.type);
    });
    device_ = value_of(Device::create(*instance_, physical_, options_));
    lane_ = value_of(Lane::create(*device_, {}));
  }

  void TearDown() override {
    lane_.reset();
    device_.reset();
    if (instance_ == nullptr) return;
    EXPECT_THAT(instance_->validation_messages(), ::testing::IsEmpty());
    instance_->clear_validation_messages();
  }

  /// Bytes that look random and repeat late.
  static std::vector<std::byte> pattern(std::size_t bytes, std::uint32_t seed = 1) {
    std::vector<std::byte> data(bytes);
    std::uint32_t state = seed * 2'654'435'761U + 1;
    for (std::byte& byte : data) {
      state = state * 1'664'525U + 1'013'904'223U;
      byte = static_cast<std::byte>(state >> 24);
    }
    return data;
  }

  /// Ordinary memory of the host from a multiple of `alignment` on.
  static std::unique_ptr<std::byte, decltype(&os::free_aligned)> host_memory(std::size_t alignment, std::size_t bytes) {
    return {static_cast<std::byte*>(os::allocate_aligned(alignment, bytes)), &os::free_aligned};
  }

  /// The texels of one layer, tightly packed, as T. The image was last used as `last`.
  template <class T>
  std::vector<T> texels(Image const& image, ResourceUse last, std::uint32_t layer = 0) {
    VkRect2D const area{{0, 0}, image.extent()};
    std::uint32_t const bytes_per_texel = image.format() == VK_FORMAT_R32G32_UINT ? 8 : 4;
    std::uint64_t const bytes = std::uint64_t{area.extent.width} * area.extent.height * bytes_per_texel;
    Buffer const buffer = value_of(lane_->arena().buffer({.bytes = bytes, .use = MemoryUse::download}));
    CommandRecorder recorder = value_of(lane_->begin());
    recorder.barrier(image, last, use::kTransferRead);
    recorder.copy(image, layer, area, buffer.view());
    recorder.barrier(buffer, use::kTransferWrite, use::kHostRead);
    succeed(lane_->submit_and_wait(std::move(recorder)));
    succeed(buffer.invalidate(0, bytes));
    auto const mapped = buffer.mapped_as<T>();
    return {mapped.begin(), mapped.end()};
  }

  inline static Instance* instance_ = nullptr;
  DeviceOptions options_;
  PhysicalDevice physical_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Lane> lane_;
};

}  // namespace garuda::vk
