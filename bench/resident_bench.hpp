// `--mode resident`: paths side by side on tables in their devices' memory, verified, then timed in turn.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/group_by_bench.hpp"
#include "bench/join_bench.hpp"
#include "bench/reference_join.hpp"
#include "bench/resident_path.hpp"
#include "garuda/error.hpp"

namespace garuda::bench {

/// A path on resident tables, and how it is told to go about it: the text of a tuning of its own passes,
/// "method=global,…".
using ResidentChoice = Choice<std::string>;

/// The paths that were asked for, each opened or the reason why not. A CUDA device beside a Vulkan device is the same
/// GPU. Errors of a path: usage where it has no resident mode; no_device; those of the path.
std::vector<Result<std::unique_ptr<ResidentPath>>> open_resident_paths(std::span<ResidentChoice const> choices,
                                                                       std::optional<std::string> const& device);

struct ResidentSampling {
  bool share_tables = false;  ///< the first path uploads the tables, the others open the same memory
  std::uint32_t repeat = 7;
  std::atomic<bool> const* cancelled = nullptr;  ///< looked at between runs
};

/// A path's part of a comparison.
struct ResidentSeries {
  Record record;
  std::string choices;
  CopyBandwidth bandwidth;
};

/// Joins the tables on every path and compares each whole result with `reference`; warms the device up; then joins
/// them `repeat` times, the paths taking turns, beside copies of as many bytes. One entry a path, in their order.
/// Errors of an entry: those of the path; device_failure when a result differs; cancelled.
std::vector<Result<ResidentSeries>> compare_resident_joins(std::span<ResidentPath* const> paths,
                                                           JoinTables const& tables, JoinWorkload const& workload,
                                                           ReferenceJoin const& reference,
                                                           ResidentSampling const& sampling);
/// The same of a group-by with `functions` of the values.
std::vector<Result<ResidentSeries>> compare_resident_group_bys(std::span<ResidentPath* const> paths, Table const& table,
                                                               GroupWorkload const& workload,
                                                               std::vector<AggregateFunction> const& functions,
                                                               ReferenceGroups const& reference,
                                                               ResidentSampling const& sampling);

/// What the command's options of mode resident come to.
struct ResidentOptions {
  std::string tuning;                   ///< of all paths
  std::vector<ResidentChoice> choices;  ///< in place of the request's paths and `tuning` when there are any
  bool share_tables = false;
};

/// Generates the tables and compares the paths compute and cuda, or one of them. One outcome a path, in the order asked
/// for.
/// Blocks. Errors: usage; the first of any path.
Result<std::vector<JoinOutcome>> run_resident_join_bench(JoinBenchRequest const& request,
                                                         ResidentOptions const& resident);
Result<std::vector<GroupByOutcome>> run_resident_group_by_bench(GroupByBenchRequest const& request,
                                                                ResidentOptions const& resident);

}  // namespace garuda::bench
