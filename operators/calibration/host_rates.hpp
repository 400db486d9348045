// Measures what the host can do a second.
#pragma once

#include <cstdint>
#include <functional>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/calibration/rates.hpp"

namespace garuda::calibration {

/// Runs a group-by of `rows` rows into about `groups` groups on the CPU path, from table to result, with one sum of
/// 64-bit integers or without aggregates, and returns its nanoseconds. The operator is above this library: its engine
/// lends it.
using RunGroupBy = std::function<Result<std::uint64_t>(std::uint64_t rows, std::uint64_t groups, bool sum)>;

/// Measures every rate with the code that queries run: the partitioner, the CPU path's kernels, whole group-bys. On the
/// threads of the calling task arena; takes a few seconds and at most 256 MiB. Blocks. Progress is reported by rate.
/// Errors: cancelled, out_of_memory, those of `group_by`.
Result<HostRates> measure_host(Control const& control, RunGroupBy const& group_by);

}  // namespace garuda::calibration
