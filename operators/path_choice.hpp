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
#include "operators/calibration/rates.hpp"
#include "operators/device_set.hpp"
#include "vk_runtime/device_traits.hpp"

namespace garuda::operators {

/// A device as the planner sees it.
struct DeviceFacts {
  DeviceInfo const* info = nullptr;
  vk::DeviceTraits const* traits = nullptr;
  std::optional<calibration::DeviceRates> measured = std::nullopt;  ///< nullopt: rates are assumed by type

  calibration::DeviceRates rates() const {
    return measured ? *measured : calibration::default_device_rates(traits->type);
  }
};

/// What queries can run on. Refers to the engine's devices.
struct Machine {
  std::vector<DeviceFacts> devices;
  std::optional<calibration::HostRates> measured_host;  ///< nullopt: rates are assumed
  std::vector<std::string> notes;                       ///< why calibrations were ignored

  calibration::HostRates host(std::uint32_t threads) const {
    return measured_host ? *measured_host : calibration::default_host_rates(threads);
  }
};

/// `threads`: that the query runs on.
Machine machine_of(DeviceSet& devices, std::uint32_t threads);

/// One way to run, priced.
struct PathOption {
  Candidate candidate;
  std::optional<std::size_t> device;  ///< index into the devices
  bool can_run = true;
};

/// Phases without cost are left out of the candidate; its estimate is the sum of the others.
void set_phases(Candidate& candidate, std::vector<std::pair<std::string, double>> phases_ns);

/// The paths that a device of its API can serve.
std::span<Path const> paths_of(DeviceFacts const& facts) noexcept;

/// "measured rates", or "rates assumed of a discrete device, not calibrated".
std::string source_of(DeviceFacts const& facts);

/// An option that cannot run on device `index`, and why.
PathOption refused(Path path, DeviceFacts const& facts, std::size_t index, std::string reason);

/// The device that the options ask a path that needs one to use; nullopt when that is left open or the CPU path is
/// asked for. Path cuda takes a CUDA device, which may also be asked for as the Vulkan device of the same GPU; the
/// other paths take a Vulkan one, `automatic` a CUDA device where no Vulkan device has the name. Errors: no_device,
/// usage for a name that fits several devices.
Result<std::optional<std::size_t>> requested_device(std::span<DeviceFacts const> devices, RunOptions const& options);

/// `built_in`: whether the path that was asked for is part of the library.
/// Errors: no_device, usage for a device with the CPU path.
Result<void> check_path(RunOptions const& options, bool built_in);

/// Returns the position of the cheapest of `all` that the options and the device rules allow: a software device is
/// never taken unless it is `requested`; `automatic` takes a CUDA device when it is, CUDA is allowed, or Vulkan has no
/// usable GPU.
/// Errors: no_device.
Result<std::size_t> choose_option(std::span<PathOption const> all, std::span<DeviceFacts const> devices,
                                  RunOptions const& options, std::optional<std::size_t> requested);

/// Writes path, device, driver, reason and notes of the choice into `plan`.
void describe_choice(PathOption const& chosen, Machine const& machine, RunOptions const& options, Plan& plan);

}  // namespace garuda::operators
