#include "bench/vulkan_device.hpp"

#include <fmt/format.h>

#include <vector>

#include "vk_runtime/device_choice.hpp"

namespace garuda::bench {

std::string OpenedDevice::driver() const {
  auto const& traits = device->traits();
  return fmt::format("{}{}{}", traits.driver_name, traits.driver_info.empty() ? "" : " ", traits.driver_info);
}

Result<OpenedDevice> open_device(std::string_view request) {
  OpenedDevice opened;
  GARUDA_TRY_ASSIGN(opened.instance, vk::Instance::create());
  GARUDA_TRY_ASSIGN(auto const found, opened.instance->physical_devices());
  std::vector<vk::DeviceTraits> traits;
  for (auto const& physical : found) traits.push_back(physical.traits);
  GARUDA_TRY_ASSIGN(auto const choice, vk::choose_device(traits, vk::parse_device_request(request)));
  GARUDA_TRY_ASSIGN(opened.device, vk::Device::create(*opened.instance, found[choice.index]));
  return opened;
}

}  // namespace garuda::bench
