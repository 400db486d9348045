// Measures what the host can do a second.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "operators/calibrate/measuring.hpp"
#include "operators/rates/rates.hpp"

namespace garuda::calibrate {

/// A way to group a table on the CPU path.
struct GroupStrategy {
  Grouping grouping = Grouping::automatic;
  bool sum = false;  ///< of one int64 column; else distinct keys alone
};
/// Group-bys to be timed, from table to result, of one table.
struct TimedGroups {
  std::uint64_t rows = 0;
  std::uint64_t groups = 1;  ///< that rows draw from, evenly
  std::span<GroupStrategy const> ways;
  int samples = 1;  ///< timed runs a way, of which the fastest counts
};
/// Runs each way once before its samples, and returns the nanoseconds of the fastest of each. The operator is above
/// this library: its engine lends it.
using RunGroupBy = std::function<Result<std::vector<std::uint64_t>>(TimedGroups const& run)>;

/// Measures every rate with the code that queries run: the partitioner, the CPU path's kernels, whole group-bys. On the
/// threads of the calling task arena; takes a few seconds and at most 256 MiB. Blocks. Progress is reported before
/// every rate. Where measuring turns out to take longer than its share of `time`, what is left is measured in one run
/// each. Errors: cancelled, limit_exceeded, out_of_memory, those of `group_by`.
Result<rates::HostRates> measure_host(MeasuringTime& time, RunGroupBy const& group_by);

}  // namespace garuda::calibrate
