// A Vulkan device opened for benchmarks that draw without the engine.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "garuda/error.hpp"
#include "vk_runtime/device.hpp"
#include "vk_runtime/instance.hpp"

namespace garuda::bench {

/// Owns the instance and its device; the device is destroyed first.
struct OpenedDevice {
  std::unique_ptr<vk::Instance> instance;
  std::unique_ptr<vk::Device> device;

  std::string const& name() const { return device->traits().name; }
  /// Name and version of the driver, as the engine spells it.
  std::string driver() const;
};

/// Opens the device that `request` names: "auto", an index or a part of a name. Software devices count.
/// Errors: no_device with the reason for each device; usage when a name matches several.
Result<OpenedDevice> open_device(std::string_view request);

}  // namespace garuda::bench
