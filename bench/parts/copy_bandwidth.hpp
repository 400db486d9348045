// How fast bytes can merely be copied: what a result's bytes/s are held against.
#pragma once

#include <cstdint>
#include <string_view>

#include "bench/record.hpp"
#include "garuda/error.hpp"
#include "garuda/plan.hpp"

namespace garuda::bench {

/// Bytes a second between host and device, one way at a time.
struct StreamRates {
  double up_bytes_per_s = 0;
  double down_bytes_per_s = 0;
  bool pinned = false;  ///< measured with memory that the device reads in place; else through staging
};

/// Copies 512 MiB up and down as joins do that place their tables on the device; the fastest. Opens the device by name.
/// Blocks. Errors: no_device, out_of_memory, device_failure.
Result<StreamRates> measure_stream_rates(std::string_view device);

/// Copies 64 MiB to the plan's device and back, the way uploads and downloads go, both ways together; on the CPU path
/// 256 MiB of host memory on all threads. The fastest, as calibrations measure. Blocks. Errors: no_device,
/// out_of_memory, device_failure.
Result<CopyBandwidth> measure_bandwidth(Plan const& plan);

}  // namespace garuda::bench
