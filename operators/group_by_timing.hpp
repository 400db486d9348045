// A group-by of made-up rows on the CPU path, timed: what the calibration of the host measures.
#pragma once

#include <cstdint>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/device_set.hpp"

namespace garuda::operators {

struct TimedGroupBy {
  std::uint64_t rows = 0;
  std::uint64_t groups = 1;   ///< that rows draw from, evenly
  bool sum = false;           ///< of one int64 column; else distinct keys alone
  std::uint32_t threads = 0;  ///< 0: all
};

/// Groups a table of an int32 key and an int64 value, and returns the nanoseconds from call to last batch. Blocks.
/// Errors: cancelled, out_of_memory.
Result<std::uint64_t> time_cpu_group_by(TimedGroupBy const& run, DeviceSet& devices, Control const& control);

}  // namespace garuda::operators
