// How rows reach a device and come back: by what mode, and by threads that copy whole columns.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>

#include "garuda/error.hpp"
#include "garuda/run.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/device/device_traits.hpp"
#include "vk_runtime/memory/copy_team.hpp"
#include "vk_runtime/memory/transfer.hpp"

namespace garuda::vulkan {

/// Converts between a tuning's mode and the runtime's.
Upload upload_of(vk::UploadMode mode) noexcept;
/// Requires: not automatic.
vk::UploadMode mode_of(Upload upload);

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
