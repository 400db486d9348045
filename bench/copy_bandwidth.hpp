// How fast bytes can merely be copied: what a result's bytes/s are held against.
#pragma once

#include <cstdint>
#include <string_view>

#include "bench/record.hpp"
#include "garuda/error.hpp"
#include "vk_runtime/device.hpp"

namespace garuda::bench {

/// Copies 256 MiB from host memory to host memory on all threads (HostCopy), five times; the median in bytes copied a
/// second. Errors: out_of_memory.
Result<CopyBandwidth> measure_host_copy();

/// Copies 64 MiB to the device and back, five times, the way uploads and downloads go; the median of both ways
/// together. Blocks. Errors: out_of_memory, device_failure.
Result<CopyBandwidth> measure_device_copy(vk::Device& device);

/// Bytes a second between host and device, one way at a time.
struct StreamRates {
  double up_bytes_per_s = 0;
  double down_bytes_per_s = 0;
  bool pinned = false;  ///< measured with memory that the device reads in place; else through staging
};

/// Copies 512 MiB up and down, five times each, as joins do that place their tables on the device; the medians. Opens
/// the device by name. Blocks. Errors: no_device, out_of_memory, device_failure.
Result<StreamRates> measure_stream_rates(std::string_view device);

/// Of the plan's device, or of the host on the CPU path. Errors: as measure_device_copy; no_device.
Result<CopyBandwidth> measure_bandwidth(Plan const& plan);

}  // namespace garuda::bench
