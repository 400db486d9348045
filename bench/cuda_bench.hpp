// `garuda bench join|group-by --mode resident --path cuda`: tables in device memory, joined and grouped by the plug-in.
#pragma once

#include <string>

#include "bench/group_by_bench.hpp"
#include "bench/join_bench.hpp"
#include "bench/record.hpp"
#include "garuda/error.hpp"

namespace garuda::bench {

/// Generates the tables, uploads them, joins them on the device and compares the whole result with ReferenceJoin; then
/// joins them `repeat` times, beside copies of as many bytes as the join reads and writes once. Time is that of the
/// host from the call to its completion, all waits between steps included. Blocks. Errors: usage; no_device; those of
/// run_join_bench.
Result<JoinOutcome> run_cuda_join_bench(JoinBenchRequest const& request);

/// The same of the sum of an int32 column by one int32 key, compared with ReferenceGroups.
Result<GroupByOutcome> run_cuda_group_by_bench(GroupByBenchRequest const& request);

/// Copies to the CUDA device of this name and back. Errors: no_device, out_of_memory, device_failure.
Result<CopyBandwidth> measure_cuda_copy(std::string const& device);

}  // namespace garuda::bench
