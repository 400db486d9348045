// `garuda bench group-by`: end-to-end group-bys of synthetic tables, verified, then timed, paths interleaved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/comparison.hpp"
#include "bench/group_tables.hpp"
#include "bench/record.hpp"
#include "bench/sampling.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/plan.hpp"

namespace garuda::bench {

struct GroupByBenchRequest : Comparison<GroupByTuning> {
  GroupWorkload workload;
  std::vector<AggregateFunction> functions{AggregateFunction::sum};  ///< of the column v
};

struct GroupByOutcome {
  Record record;
  std::string choices;                                          ///< the plan's tuning and reason
  CopyBandwidth bandwidth;                                      ///< of the device, or of the host on the CPU path
  std::vector<std::pair<std::string, std::uint64_t>> counters;  ///< of the median sample
  std::optional<Record> floor;                                  ///< op "raster-floor"
  RatioSummary total_ratio;  ///< time of the group-by / time of the bare draws, pairwise
};

/// Generates the table, groups it once on every path and compares each whole result with ReferenceGroups; then groups
/// it `repeat` times, all paths in turn within each repetition. One outcome a path, in the order asked for. Time is
/// from the call to the last batch, with all batches kept in host memory. Blocks.
/// Errors: usage; cancelled; those of Engine::group_by; device_failure, also when a result differs from the reference.
Result<std::vector<GroupByOutcome>> run_group_by_bench(GroupByBenchRequest const& request);
/// The same with a table of the request's workload that is there, and its reference.
Result<std::vector<GroupByOutcome>> run_group_by_bench(GroupByBenchRequest const& request, Table const& table,
                                                       ReferenceGroups const& reference);

}  // namespace garuda::bench
