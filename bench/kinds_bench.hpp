// `garuda bench kinds`: every kind of join of tables that live on a device, and their counts, against the inner join.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/gpu/contest.hpp"
#include "bench/workloads/generators.hpp"
#include "garuda/error.hpp"
#include "garuda/join.hpp"

namespace garuda::bench {

struct KindsRequest : Sampling {
  JoinWorkload workload;
  std::vector<JoinKind> kinds{JoinKind::left, JoinKind::right, JoinKind::full,
                              JoinKind::semi, JoinKind::anti,  JoinKind::mark};
  std::vector<JoinKind> counted{JoinKind::inner, JoinKind::full, JoinKind::semi};
  std::string tuning;
  std::optional<std::string> device;
};

/// Uploads the tables, runs the inner join, each of `kinds` and the counts of `counted` once, comparing rows, nulls and
/// the sum of every column with what sorted keys say, then `repeat` times in turn. Results stay on the device; times
/// are its own, of all passes, where it has a clock; ratios are to the inner join. Blocks.
/// Errors: usage; those of Engine::upload and join; device_failure when a result differs.
Result<std::vector<Outcome>> run_kinds_bench(KindsRequest const& request);

}  // namespace garuda::bench
