// How fast bytes can merely be copied.
#pragma once

#include <cstdint>

#include "core/buffer.hpp"
#include "garuda/error.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/memory/copy_team.hpp"
#include "vk_runtime/memory/transfer.hpp"

namespace garuda::calibrate {

/// A buffer whose pages have been touched, so that the first copy that is timed does not pay for them.
/// Errors: out_of_memory.
Result<AlignedBuffer> filled_buffer(std::int64_t bytes);

/// Copies `bytes` from host memory to host memory by memcpy, as operators do, on the threads of the calling task arena,
/// `repetitions` times; the fastest in bytes copied a second. Errors: out_of_memory.
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

/// Bytes a second of `threads` threads that copy `bytes` one way side by side, as columns of whole tables go; the
/// fastest. Blocks. Errors: those of measure_device_copy.
Result<double> measure_team_copy(vk::Device& device, vk::CopyDirection direction, std::uint32_t threads,
                                 std::int64_t bytes, int repetitions = 5);

}  // namespace garuda::calibrate
