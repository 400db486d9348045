// The machine on which queries run, as paths and planners see it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "garuda/device_info.hpp"
#include "operators/contract/device_set.hpp"
#include "operators/rates/rates.hpp"

namespace garuda::contract {

/// A device as the planner sees it.
struct DeviceFacts {
  DeviceInfo const* info = nullptr;
  vk::DeviceTraits const* vulkan = nullptr;                   ///< of a Vulkan device
  std::optional<rates::DeviceRates> measured = std::nullopt;  ///< nullopt: rates are assumed by type

  rates::DeviceRates rates() const { return measured ? *measured : rates::default_device_rates(info->kind); }
  bool is_software() const noexcept { return info->kind == DeviceKind::cpu; }
};

/// Devices and host on which queries can run. Refers to the engine's devices.
struct Machine {
  std::vector<DeviceFacts> devices;
  std::optional<rates::HostRates> measured_host;  ///< nullopt: rates are assumed
  bool is_being_measured = false;                 ///< in the background: later plans will know
  std::vector<std::string> notes = {};            ///< why calibrations were ignored

  rates::HostRates host(std::uint32_t threads) const {
    return measured_host ? *measured_host : rates::default_host_rates(threads);
  }
};

}  // namespace garuda::contract
