#include "operators/contract/device_set.hpp"

namespace garuda::contract {

void add_devices(std::vector<FoundDevice>& devices, std::span<FoundDevice const> found) {
  auto const known = devices.size();
  for (auto const& device : found) {
    auto& added = devices.emplace_back(device);
    added.info.index = static_cast<std::uint32_t>(devices.size() - 1);
    for (std::uint32_t i = 0; i < known; ++i)
      if (devices[i].uuid == added.uuid) added.info.same_gpu = i;
  }
}

}  // namespace garuda::contract
