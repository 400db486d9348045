// `garuda bench join --mode resident --path compute`: joins of tables in device memory, timed by the device.
#pragma once

#include <string>

#include "bench/join_bench.hpp"
#include "garuda/error.hpp"

namespace garuda::bench {

/// Generates the tables, uploads them, joins them on the device and compares the whole result with ReferenceJoin; then
/// joins them `repeat` times, beside copies of as many bytes as the join reads and writes once. `compute_tuning`: as
/// operators::apply_tuning. Blocks. Errors: usage for another path than compute; those of run_join_bench.
Result<JoinOutcome> run_resident_join_bench(JoinBenchRequest const& request, std::string const& compute_tuning);

}  // namespace garuda::bench
