// What queries can run on, as paths and planners see it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "garuda/engine.hpp"
#include "operators/calibration/rates.hpp"
#include "vk_runtime/device_traits.hpp"

namespace garuda::operators {

using calibration::DeviceRates;
using calibration::HostRates;

/// A device as the planner sees it.
struct DeviceFacts {
  DeviceInfo const* info = nullptr;
  vk::DeviceTraits const* traits = nullptr;
  std::optional<DeviceRates> measured = std::nullopt;  ///< nullopt: rates are assumed by type

  DeviceRates rates() const { return measured ? *measured : calibration::default_device_rates(traits->type); }
  bool is_software() const noexcept { return traits->type == vk::DeviceType::cpu; }
};

/// What queries can run on. Refers to the engine's devices.
struct Machine {
  std::vector<DeviceFacts> devices;
  std::optional<HostRates> measured_host;  ///< nullopt: rates are assumed
  std::vector<std::string> notes;          ///< why calibrations were ignored

  HostRates host(std::uint32_t threads) const {
    return measured_host ? *measured_host : calibration::default_host_rates(threads);
  }
};

}  // namespace garuda::operators
