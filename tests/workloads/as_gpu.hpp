// The test device as if it were a GPU with memory of its own, with rates as a test wants them.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "operators/contract/device_set.hpp"
#include "operators/rates/calibrations.hpp"
#include "operators/vulkan/vulkan_devices.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::testing {

class AsGpu final : public contract::DeviceSet {
 public:
  AsGpu(vk::Device& device, vk::PipelineStore& pipelines, rates::HostRates const& host, rates::DeviceRates const& rates)
      : open_(device, pipelines), traits_(device.traits()) {
    traits_.type = vk::DeviceType::discrete;
    info_.name = traits_.name;
    info_.kind = DeviceKind::discrete;
    info_.memory_bytes = traits_.device_local_bytes();
    info_.usable = true;
    // There is no folder to write them to.
    (void)store_.keep(host);
    (void)store_.keep(0, rates);
  }

  std::span<DeviceInfo const> devices() const noexcept override { return {&info_, 1}; }
  vk::DeviceTraits const* vulkan_traits(std::size_t) const override { return &traits_; }
  rates::CalibrationStore const& calibrations() const noexcept override { return store_; }
  Result<contract::OpenDevice*> open(std::size_t) override { return &open_; }

 private:
  vulkan::VulkanDevice open_;
  vk::DeviceTraits traits_;
  DeviceInfo info_;
  std::array<vk::DeviceTraits const*, 1> all_{&traits_};
  rates::CalibrationStore store_{std::nullopt, all_};
};

}  // namespace garuda::testing
