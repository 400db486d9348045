// Which path runs on which device: the same rules for every operator.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/plan.hpp"
#include "garuda/run.hpp"
#include "operators/device_set.hpp"
#include "vk_runtime/device_traits.hpp"

namespace garuda::operators {

/// A device as the planner sees it.
struct DeviceFacts {
  DeviceInfo const* info = nullptr;
  vk::DeviceTraits const* traits = nullptr;
};

std::vector<DeviceFacts> facts_of(DeviceSet& devices);

/// Rates that price a device, in items per second; defaults by kind of device until it is calibrated.
struct DeviceRates {
  double points_per_s = 0;      ///< points drawn
  double pixels_per_s = 0;      ///< pixels cleared or scanned
  double copy_bytes_per_s = 0;  ///< each way between host and device

  double points_ns(double points) const noexcept { return points / points_per_s * 1e9; }
  double pixels_ns(double pixels) const noexcept { return pixels / pixels_per_s * 1e9; }
  double copy_ns(double bytes) const noexcept { return bytes / copy_bytes_per_s * 1e9; }
};

/// Rates assumed of a device that has not been measured, by its type. Sources: docs/design.md, Rates.
DeviceRates default_rates(vk::DeviceType type) noexcept;

/// One way to run, priced.
struct PathOption {
  Candidate candidate;
  std::optional<std::size_t> device;  ///< index into the devices
  bool can_run = true;
};

/// Sets the estimate to the sum of the candidate's phases.
void sum_phases(Candidate& candidate);

/// An option that cannot run on device `index`, and why.
PathOption refused(DeviceFacts const& facts, std::size_t index, std::string reason);

/// The device that the options ask a path that needs one to use; nullopt when that is left open or the CPU path is
/// asked for. Errors: no_device.
Result<std::optional<std::size_t>> requested_device(std::span<DeviceFacts const> devices, RunOptions const& options);

/// `built_in`: whether the path that was asked for is part of the library.
/// Errors: no_device, usage for a device with the CPU path.
Result<void> check_path(RunOptions const& options, bool built_in);

/// Returns the position of the cheapest of `all` that the options and the device rules allow: a software device is
/// never taken unless it is `requested`.
/// Errors: no_device.
Result<std::size_t> choose_option(std::span<PathOption const> all, std::span<DeviceFacts const> devices,
                                  RunOptions const& options, std::optional<std::size_t> requested);

/// Writes path, device, driver, reason and notes of the choice into `plan`.
void describe_choice(PathOption const& chosen, std::span<DeviceFacts const> devices, RunOptions const& options,
                     Plan& plan);

}  // namespace garuda::operators
