// A Vulkan device opened for benchmarks that run without the engine.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "garuda/error.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/device/instance.hpp"
#include "vk_runtime/lane.hpp"
#include "vk_runtime/pipelines.hpp"

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

/// A device with what it takes to record and submit.
struct OpenedLane : OpenedDevice {
  std::unique_ptr<vk::PipelineStore> pipelines;
  std::unique_ptr<vk::Lane> lane;

  /// The clock that times phases: "GPU timestamps" or "host time from submission to completion".
  std::string_view clock() const noexcept;
};

/// Errors: those of open_device; out_of_memory, device_failure.
Result<OpenedLane> open_lane(std::string_view request, char const* name);

}  // namespace garuda::bench
