// `garuda bench join`: end-to-end joins of synthetic tables, verified, then timed, paths interleaved.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/comparison.hpp"
#include "bench/generators.hpp"
#include "bench/record.hpp"
#include "bench/sampling.hpp"
#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "garuda/plan.hpp"

namespace garuda::bench {

struct JoinBenchRequest : Comparison<JoinTuning> {
  JoinWorkload workload;
};

/// The bare draws of one path's join, timed in the same repetitions.
struct FloorOutcome {
  Record record;             ///< op "raster-floor"
  RatioSummary total_ratio;  ///< time of the join / time of the bare draws, pairwise
};

struct JoinOutcome {
  Record record;
  std::string choices;         ///< the plan's tuning and reason
  bool compared_rows = false;  ///< verified row by row; else by number and digest
  CopyBandwidth bandwidth;     ///< of the device, or of the host on the CPU path
  std::optional<FloorOutcome> floor;
};

/// Generates the tables, joins them once on every path and compares each whole result with ReferenceJoin; then joins
/// them `repeat` times, all paths in turn within each repetition. One outcome a path, in the order asked for. Time is
/// from the call to the last batch, with all batches kept in host memory. Blocks.
/// Errors: usage; cancelled; those of Engine::join; device_failure, also when a result differs from the reference.
Result<std::vector<JoinOutcome>> run_join_bench(JoinBenchRequest const& request);

}  // namespace garuda::bench
