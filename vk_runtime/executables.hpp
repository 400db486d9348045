// Statistics of the machine code that a driver made of a pipeline (VK_KHR_pipeline_executable_properties).
#pragma once

#include <volk.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::vk {

/// One of a pipeline's programs: a stage, or several that the driver made one of.
struct Executable {
  std::string name;                 ///< the driver's: "Compute Shader"
  VkShaderStageFlags stages = 0;    ///< that it runs
  std::uint32_t subgroup_size = 0;  ///< 0 where the driver does not say
  /// Statistics by the driver's names: RADV has "VGPRs", "SGPRs", "Spilled VGPRs", "LDS size" in bytes, …
  std::map<std::string, double> statistics;
};

/// The executables of a pipeline, in the driver's order. `pipeline` comes from a store of `device` that keeps
/// statistics (PipelineStore::keep_statistics). Errors: device_failure, out_of_memory.
Result<std::vector<Executable>> executables(Device const& device, Pipeline const& pipeline);

}  // namespace garuda::vk
