// `garuda bench join`: end-to-end joins of synthetic tables, verified, then timed, paths interleaved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/comparison.hpp"
#include "bench/copy_bandwidth.hpp"
#include "bench/generators.hpp"
#include "bench/record.hpp"
#include "bench/reference_join.hpp"
#include "bench/sampling.hpp"
#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "garuda/plan.hpp"

namespace garuda::bench {

struct JoinBenchRequest : Comparison<JoinTuning> {
  JoinWorkload workload;
};

/// What copying alone takes, host to host: build side up, then probe side up while rows come down.
struct StreamBound {
  StreamRates rates;  ///< measured in the same run
  std::uint64_t ns = 0;
  double ratio = 0;  ///< of the join's median
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
  std::optional<StreamBound> bound;  ///< where the tables went to the device whole
};

/// Generates the tables, joins them once on every path and compares each whole result with ReferenceJoin; then joins
/// them `repeat` times, all paths in turn within each repetition. One outcome a path, in the order asked for. Time is
/// from the call to the last batch, with all batches kept in host memory. Blocks.
/// Errors: usage; cancelled; those of Engine::join; device_failure, also when a result differs from the reference.
Result<std::vector<JoinOutcome>> run_join_bench(JoinBenchRequest const& request);
/// The same with tables of the request's workload that are there, and their reference.
Result<std::vector<JoinOutcome>> run_join_bench(JoinBenchRequest const& request, JoinTables const& tables,
                                                ReferenceJoin const& reference);

/// Whether the workload can be had: usage for a match ratio outside [0, 1]; out_of_memory when tables, reference and
/// result do not fit into free memory.
Result<void> check_join_workload(JoinWorkload const& workload, TableMemory memory = TableMemory::ordinary);

/// Bytes of both tables and of the result, each once.
std::uint64_t joined_bytes(JoinTables const& tables, std::uint64_t rows_out);

}  // namespace garuda::bench
