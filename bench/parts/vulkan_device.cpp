#include "bench/parts/vulkan_device.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "operators/plan/path_choice.hpp"
#include "operators/vulkan/vulkan_devices.hpp"

namespace garuda::bench {

std::string OpenedDevice::driver() const {
  auto const& traits = device->traits();
  return fmt::format("{}{}{}", traits.driver_name, traits.driver_info.empty() ? "" : " ", traits.driver_info);
}

Result<OpenedDevice> open_device(std::string_view request) {
  OpenedDevice opened;
  GARUDA_TRY_ASSIGN(opened.instance, vk::Instance::create());
  GARUDA_TRY_ASSIGN(auto const found, opened.instance->physical_devices());
  std::vector<DeviceInfo> infos;
  for (auto const& physical : found) infos.push_back(vulkan::describe(physical.traits));
  std::vector<DeviceInfo const*> listed;
  for (auto const& info : infos) listed.push_back(&info);
  GARUDA_TRY_ASSIGN(auto const index, plan::choose_device(listed, request, DeviceApi::vulkan));
  GARUDA_TRY_ASSIGN(opened.device, vk::Device::create(*opened.instance, found[index]));
  return opened;
}

std::string_view OpenedLane::clock() const noexcept {
  return lane->timer().source() == vk::ClockSource::device ? "GPU timestamps"
                                                           : "host time from submission to completion";
}

Result<OpenedLane> open_lane(std::string_view request, char const* name) {
  OpenedLane opened;
  GARUDA_TRY_ASSIGN(static_cast<OpenedDevice&>(opened), open_device(request));
  GARUDA_TRY_ASSIGN(opened.pipelines, vk::PipelineStore::create(*opened.device, vk::default_cache_folder()));
  vk::LaneOptions options;
  options.name = name;
  GARUDA_TRY_ASSIGN(opened.lane, vk::Lane::create(*opened.device, options));
  return opened;
}

}  // namespace garuda::bench
