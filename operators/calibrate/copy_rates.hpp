// How fast bytes can merely be copied.
#pragma once

#include <cstdint>
#include <utility>

#include "core/buffer.hpp"
#include "garuda/error.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/memory/copy_team.hpp"
#include "vk_runtime/memory/transfer.hpp"

namespace garuda::calibrate {

/// Host memory that is copied to other host memory by memcpy, as operators do; its pages have been touched, so that no
/// copy pays for them.
class HostCopy {
 public:
  /// Errors: out_of_memory.
  static Result<HostCopy> create(std::int64_t bytes);

  std::uint64_t bytes() const noexcept { return static_cast<std::uint64_t>(source_.size_bytes()); }
  /// Copies all bytes once on the threads of the calling task arena and returns the nanoseconds that it took.
  std::uint64_t run();

 private:
  HostCopy(AlignedBuffer source, AlignedBuffer destination) noexcept
      : source_(std::move(source)), destination_(std::move(destination)) {}

  AlignedBuffer source_;
  AlignedBuffer destination_;
};

/// Runs a HostCopy of `bytes` bytes `repetitions` times; the fastest in bytes copied a second. Errors: out_of_memory.
Result<double> measure_host_copy(std::int64_t bytes, int repetitions = 5);

/// The fastest of one way to upload and of downloads.
struct DeviceCopy {
  double upload_ns = 0;
  double download_ns = 0;
};

/// Copies `bytes` to the device the way `mode` says and back, `repetitions` times. Blocks.
/// Errors: no_device where the device has not this way; out_of_memory, device_failure.
Result<DeviceCopy> measure_device_copy(vk::Device& device, vk::UploadMode mode, std::int64_t bytes,
                                       int repetitions = 5);

/// Bytes a second of the threads of a team that copies `bytes` bytes one way, as columns of whole tables go; the
/// fastest. Where `options` use pinned memory, the host's end is pinned. Blocks. Errors: those of measure_device_copy.
Result<double> measure_team_copy(vk::Device& device, vk::CopyTeamOptions const& options, std::int64_t bytes,
                                 int repetitions = 5);

}  // namespace garuda::calibrate
