// The engine's devices, as the planner and the paths see them, and how an API gives them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "garuda/device_info.hpp"
#include "garuda/error.hpp"
#include "operators/rates/calibrations.hpp"

namespace garuda::vk {
struct DeviceTraits;
}  // namespace garuda::vk

namespace garuda::contract {

/// A device that is open. What of it is there to use, the room of its API knows.
class OpenDevice {
 public:
  virtual ~OpenDevice() = default;
};

/// A device as it was found.
struct FoundDevice {
  DeviceInfo info;
  std::array<std::uint8_t, 16> uuid{};       ///< of the GPU, whatever the API
  vk::DeviceTraits const* vulkan = nullptr;  ///< of a Vulkan device: what its paths plan by
};

/// The devices of one API. Its calls follow one another; `found` does not change.
class ApiDevices {
 public:
  virtual ~ApiDevices() = default;
  virtual std::span<FoundDevice const> found() const noexcept = 0;
  /// Opens one on first use. It lives as long as this. Errors: no_device, device_failure.
  virtual Result<OpenDevice*> open(std::size_t index) = 0;
  /// Bounds, of the devices that are open, the pinned memory that is kept once it is freed.
  virtual void keep_pinned(std::uint64_t bytes) { static_cast<void>(bytes); }
  /// Gives back what the open devices keep.
  virtual void release_memory() = 0;
  virtual std::vector<std::string> validation_messages() const { return {}; }
};

/// Lists `found` behind `devices`, by index; one of a GPU that is there already says so (same_gpu).
void add_devices(std::vector<FoundDevice>& devices, std::span<FoundDevice const> found);

class DeviceSet {
 public:
  virtual ~DeviceSet() = default;
  virtual std::span<DeviceInfo const> devices() const noexcept = 0;
  /// Traits of Vulkan device `index`, known without opening it; nullptr of others.
  virtual vk::DeviceTraits const* vulkan_traits(std::size_t index) const = 0;
  /// Known speeds of Vulkan devices and host.
  virtual rates::CalibrationStore const& calibrations() const noexcept = 0;
  /// Opens a device on first use. Errors: no_device, device_failure. Thread-safe.
  virtual Result<OpenDevice*> open(std::size_t index) = 0;
};

}  // namespace garuda::contract
