// The paths that can run a join: one row each.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "garuda/plan.hpp"
#include "operators/join_kernel.hpp"
#include "vk_runtime/device_traits.hpp"

namespace garuda::vk {
class Device;
}

namespace garuda::operators {

/// The engine's devices, as the planner and the paths see them.
class DeviceSet {
 public:
  virtual ~DeviceSet() = default;
  virtual std::span<DeviceInfo const> devices() const noexcept = 0;
  /// Traits of device `index`, known without opening it.
  virtual vk::DeviceTraits const& traits(std::size_t index) const = 0;
  /// Opens a device on first use. Errors: no_device, device_failure. Thread-safe.
  virtual Result<vk::Device*> open(std::size_t index) = 0;
};

/// One path of the join.
struct JoinPath {
  Path path = Path::cpu;
  bool needs_device = false;
  /// Opens the path for one join; `device` is null when the path needs none.
  Result<std::unique_ptr<JoinBackend>> (*open)(vk::Device* device, BackendOptions const& options) = nullptr;
};

/// All paths built into this library.
std::span<JoinPath const> join_paths() noexcept;

/// The row of `path`, or nullptr when it is not built in.
JoinPath const* find_join_path(Path path) noexcept;

}  // namespace garuda::operators
