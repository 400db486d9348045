// Measures what the host can do a second.
#pragma once

#include <cstdint>
#include <functional>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "operators/rates/rates.hpp"

namespace garuda::calibrate {

/// A group-by to be timed on the CPU path, from table to result.
struct TimedGroups {
  std::uint64_t rows = 0;
  std::uint64_t groups = 1;  ///< that rows draw from, evenly
  Grouping grouping = Grouping::automatic;
  bool sum = false;  ///< of one int64 column; else distinct keys alone
  int samples = 1;   ///< timed runs, of which the fastest counts
};
/// Runs it on one table, once before the samples, and returns the nanoseconds of the fastest. The operator is above
/// this library: its engine lends it.
using RunGroupBy = std::function<Result<std::uint64_t>(TimedGroups const& run)>;

/// Measures every rate with the code that queries run: the partitioner, the CPU path's kernels, whole group-bys. On the
/// threads of the calling task arena; takes a few seconds and at most 256 MiB. Blocks. Progress is reported by rate.
/// Errors: cancelled, out_of_memory, those of `group_by`.
Result<rates::HostRates> measure_host(Control const& control, RunGroupBy const& group_by);

}  // namespace garuda::calibrate
