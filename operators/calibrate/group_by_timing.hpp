// A group-by of made-up rows on the CPU path, timed: what the calibration of the host measures.
#pragma once

#include <cstdint>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/calibrate/host_rates.hpp"
#include "operators/contract/device_set.hpp"

namespace garuda::calibrate {

/// Groups a table of an int32 key and an int64 value on `threads` threads (0: all), by each of run.ways once and then
/// run.samples times; returns the nanoseconds from call to last batch of each way's fastest. Blocks. Errors: cancelled,
/// out_of_memory.
Result<std::vector<std::uint64_t>> time_cpu_group_by(TimedGroups const& run, std::uint32_t threads,
                                                     contract::DeviceSet& devices, Control const& control);

}  // namespace garuda::calibrate
