// The engine's devices, as the planner and the paths see them.
#pragma once

#include <cstddef>
#include <span>

#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "operators/rates/calibration_store.hpp"
#include "vk_runtime/device_traits.hpp"

namespace garuda::vk {
class Device;
class PipelineStore;
}  // namespace garuda::vk

namespace garuda::cuda {
class CudaDevice;
}  // namespace garuda::cuda

namespace garuda::contract {

/// A device that is open, and the pipelines that all operators on it share. Does not own.
struct OpenDevice {
  vk::Device* device = nullptr;
  vk::PipelineStore* pipelines = nullptr;
  cuda::CudaDevice* cuda = nullptr;  ///< of a CUDA device, which has nothing else
};

class DeviceSet {
 public:
  virtual ~DeviceSet() = default;
  virtual std::span<DeviceInfo const> devices() const noexcept = 0;
  /// Traits of device `index`, known without opening it; of a CUDA device what planning_traits gives.
  virtual vk::DeviceTraits const& traits(std::size_t index) const = 0;
  /// What is known of the speed of Vulkan devices and host.
  virtual rates::CalibrationStore const& calibrations() const noexcept = 0;
  /// Opens a device on first use. Errors: no_device, device_failure. Thread-safe.
  virtual Result<OpenDevice> open(std::size_t index) = 0;
};

}  // namespace garuda::contract
