#include "operators/vulkan/device_lanes.hpp"

#include <algorithm>

#include "operators/vulkan/upload_mode.hpp"

namespace garuda::vulkan {

Result<DeviceLanes> DeviceLanes::open(vk::Device& device, DeviceLaneOptions const& options) {
  GARUDA_EXPECTS(options.lanes > 0);
  DeviceLanes opened;
  auto const available = device.memory().available_bytes();
  auto const limit = options.device_memory_limit_bytes;
  opened.lane_budget_bytes = (limit == 0 ? available : std::min(limit, available)) / options.lanes;
  vk::LaneOptions lane_options;
  auto const& traits = device.traits();
  GARUDA_TRY_ASSIGN(lane_options.transfer.mode, upload_mode(traits, options.upload));
  lane_options.reads_in_place = lane_options.transfer.mode == vk::UploadMode::import_host && traits.unified_memory;
  // What is not read in place is made, or copied, where the device reads it.
  if (lane_options.reads_in_place && traits.device_memory_mappable()) lane_options.transfer.mode = vk::UploadMode::map;
  lane_options.name = options.name;
  for (std::uint32_t lane = 0; lane < options.lanes; ++lane) {
    GARUDA_TRY_ASSIGN(auto created, vk::Lane::create(device, lane_options));
    opened.lanes.push_back(std::move(created));
  }
  return opened;
}

Result<vk::Lane*> DeviceLanes::take(std::uint32_t lane) {
  auto& own = *lanes.at(lane);
  GARUDA_TRY(own.reset());
  return &own;
}

}  // namespace garuda::vulkan
