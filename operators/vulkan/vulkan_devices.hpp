// The Vulkan devices of this machine: found, described, opened; their lanes, and how rows reach them and come back: by
// what mode, and by threads that copy whole columns.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "garuda/run.hpp"
#include "operators/contract/device_set.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/device/device_traits.hpp"
#include "vk_runtime/lane.hpp"
#include "vk_runtime/memory/copy_team.hpp"
#include "vk_runtime/memory/transfer.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::vulkan {

/// An open device and the pipelines that all operators on it share. Does not own.
struct VulkanDevice final : contract::OpenDevice {
  VulkanDevice() = default;
  VulkanDevice(vk::Device& opened, vk::PipelineStore& shared) : device(&opened), pipelines(&shared) {}

  vk::Device* device = nullptr;
  vk::PipelineStore* pipelines = nullptr;
};

/// Requires: it is one of Vulkan.
inline VulkanDevice& vulkan_of(contract::OpenDevice& device) { return static_cast<VulkanDevice&>(device); }

/// What `Open` opens on a device of Vulkan, as a path's row has it.
template <auto Open, class... Options>
auto open_on(contract::OpenDevice* device, Options const&... options) {
  auto const& own = vulkan_of(*device);
  return Open(*own.device, *own.pipelines, options...);
}

/// Opens device `index`, one of Vulkan. Errors: those of DeviceSet::open.
Result<VulkanDevice> open_vulkan(contract::DeviceSet& devices, std::size_t index);

/// The listing of a device, but for its index.
DeviceInfo describe(vk::DeviceTraits const& traits);

/// See PathRow::find_devices. Errors: no_device, which says whether the loader, a driver or a device is missing; asking
/// for the validation layer where there is none, a broken loader.
Result<std::unique_ptr<contract::ApiDevices>> find_vulkan_devices(EngineOptions const& options);

/// Lanes, and the device memory that each may take.
struct DeviceLanes {
  std::vector<std::unique_ptr<vk::Lane>> lanes;
  std::uint64_t lane_budget_bytes = 0;

  /// Opens `num_lanes` ≥ 1 lanes to which rows go by `upload`. `memory_limit_bytes`: of all lanes; 0: the device's
  /// budget. `device` and `name` outlive the lanes. Errors: usage for an upload that the device cannot do,
  /// out_of_memory, device_failure.
  static Result<DeviceLanes> open(vk::Device& device, std::uint32_t num_lanes, Upload upload,
                                  std::uint64_t memory_limit_bytes, char const* name);
};

/// A lane of a backend, emptied, and the device memory that it may take.
struct OwnLane {
  vk::Lane& lane;
  std::uint64_t budget_bytes = 0;
};

/// The backend of joins or of group-bys on a device: lanes as `Options` asks for them, on which `begin` starts on
/// slices. The previous kernel of a lane has to be gone then.
template <class Backend, class Kernel, class Slice, class Options>
class LaneBackend final : public Backend {
 public:
  using Begin = std::function<Result<std::unique_ptr<Kernel>>(OwnLane const&, Options const&, Slice const&)>;

  /// Errors: those of DeviceLanes::open().
  static Result<std::unique_ptr<Backend>> open(vk::Device& device, Options const& options, char const* name,
                                               Begin begin) {
    std::unique_ptr<LaneBackend> backend(new LaneBackend(options, std::move(begin)));
    GARUDA_TRY_ASSIGN(backend->lanes_, DeviceLanes::open(device, options.lanes, options.tuning.upload,
                                                         options.device_memory_limit_bytes, name));
    return std::unique_ptr<Backend>(std::move(backend));
  }

  Result<std::unique_ptr<Kernel>> begin(Slice const& slice, std::uint32_t lane) override {
    auto& own = *lanes_.lanes.at(lane);
    GARUDA_TRY(own.reset());
    return begin_(OwnLane{own, lanes_.lane_budget_bytes}, options_, slice);
  }

 private:
  LaneBackend(Options const& options, Begin begin) : options_(options), begin_(std::move(begin)) {}

  Options options_;
  Begin begin_;
  DeviceLanes lanes_;
};

/// The way that keys and values reach a device: the one asked for, or the device's default.
/// Errors: no_device, with the reason, when the device has not what was asked for.
Result<vk::UploadMode> upload_mode(vk::DeviceTraits const& traits, Upload upload);

/// Bytes of copies that are worth every thread.
inline constexpr std::uint64_t kManyBytes = std::numeric_limits<std::uint64_t>::max();

/// How columns are copied.
struct ColumnCopies {
  Upload upload = Upload::stage;
  std::uint32_t threads = 1;         ///< at most
  std::uint64_t bytes = kManyBytes;  ///< of all of them: few need fewer threads
  bool use_pinned = false;           ///< the host's end is pinned: the device copies it by itself
  std::atomic<bool> const* cancelled = nullptr;
};

/// The mode that `asked` comes to on this device, for copies of `bytes` in all: the host itself writes few bytes to the
/// device's memory, where it can. Errors: those of upload_mode().
Result<Upload> upload_on(vk::Device const& device, Upload asked, std::uint64_t bytes = kManyBytes);

/// Opens the threads that copy in one direction, which has a queue of its own where the device has two. Errors: those
/// of CopyTeam::create.
Result<std::unique_ptr<vk::CopyTeam>> open_copy_team(vk::Device& device, vk::CopyDirection direction,
                                                     ColumnCopies const& copies);

}  // namespace garuda::vulkan
