#include "bench/resident_group_by_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/resident_table.hpp"
#include "operators/compute/device_primitives.hpp"
#include "operators/compute/resident_group_by.hpp"

namespace garuda::bench {
namespace {

using operators::ResidentFunction;

Result<void> check(GroupByBenchRequest const& request) {
  auto const usage = [](std::string text) { return fail(ErrorCode::usage, std::move(text)); };
  bool const is_compute = request.paths.size() == 1 && request.paths[0] == Path::compute && request.choices.empty();
  if (!is_compute) return usage("--mode resident groups on one path: --path compute or --path cuda");
  if (request.floor) return usage("--floor draws what --path graphics draws");
  if (request.repeat == 0) return usage("--repeat must be at least 1: 0");
  if (request.workload.rows == 0) return usage("--rows must be at least 1 in --mode resident: 0");
  if (request.workload.keys != 1)
    return usage(fmt::format("--mode resident groups by one key: {}", request.workload.keys));
  return {};
}

Result<ResidentFunction> function_of(AggregateFunction function, ValueType type) {
  bool const narrow = type == ValueType::i32;
  switch (function) {
    case AggregateFunction::count:
      return ResidentFunction::count;
    case AggregateFunction::sum:
      if (type != ValueType::f64) return narrow ? ResidentFunction::sum_i32 : ResidentFunction::sum_i64;
      break;
    case AggregateFunction::min:
      if (narrow) return ResidentFunction::min_i32;
      break;
    case AggregateFunction::max:
      if (narrow) return ResidentFunction::max_i32;
      break;
    case AggregateFunction::mean:
      break;
  }
  return fail(ErrorCode::usage, fmt::format("--mode resident has counts, sums of i32 and i64, and extremes of i32: {}",
                                            to_string(function)));
}

/// Groups that rows drawn evenly are expected to have, as a sample would estimate them.
std::uint64_t expected_groups(GroupWorkload const& workload) {
  auto const groups = static_cast<double>(workload.groups);
  auto const seen = groups * (1 - std::exp(-static_cast<double>(workload.rows) / groups));
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(seen), 1);
}

/// The result in host memory.
Result<Table> download(ComputeBench& bench, Table const& table, GroupByBenchRequest const& request,
                       operators::ResidentGroups const& groups) {
  TableBuilder builder(groups.groups);
  auto const& value_type = table.schema().back().type;
  GARUDA_TRY(download_column(bench, builder, "k0", table.schema()[0].type, *groups.keys, groups.groups));
  for (std::size_t a = 0; a < request.functions.size(); ++a) {
    auto const& buffer = *groups.aggregates[a];
    auto const name = fmt::format("a{}", a);
    auto const function = request.functions[a];
    bool const is_wide = function == AggregateFunction::sum || function == AggregateFunction::count;
    auto const type = is_wide ? DataType{TypeId::int64} : value_type;
    GARUDA_TRY(download_column(bench, builder, name, type, buffer, groups.groups));
  }
  return builder.finish();
}

std::string describe(operators::ResidentGrouping const& grouping, operators::ComputeTuning const& tuning) {
  constexpr std::array kWays{"auto", "shared", "table", "partitioned"};
  auto const way = std::string_view(kWays.at(static_cast<std::size_t>(grouping.way)));
  auto const table = fmt::format("table of {} slots", grouping.table_slots);
  if (grouping.way == operators::ResidentWay::table) return fmt::format("{}, {}", way, table);
  auto const bits = grouping.way == operators::ResidentWay::partitioned
                        ? fmt::format(" by {} bits,", grouping.radix_bits)
                        : std::string();
  return fmt::format("{},{} {} x {} slots in shared memory, workgroups of {} x {} rows a tile, windows of {} rows, {}",
                     way, bits, grouping.slots, grouping.copies, tuning.group_by_size, tuning.group_by_items,
                     grouping.window_rows, table);
}

/// Times the group-by, and copies of as many bytes between its runs.
struct Runs {
  std::vector<PhaseSample> group_bys;
  std::vector<PhaseSample> copies;
};

Result<Runs> sample(ComputeBench& bench, operators::ResidentGroupBy& group_by, std::uint64_t bytes,
                    GroupByBenchRequest const& request) {
  auto const copied = std::max<std::uint64_t>(bytes / 2 / 16 * 16, 16);
  GARUDA_TRY_ASSIGN(auto const source, bench.context().device_buffer(copied, "copy source"));
  GARUDA_TRY_ASSIGN(auto const target, bench.context().device_buffer(copied, "copy target"));
  Control control;
  control.cancelled = request.cancelled;
  Runs runs;
  for (std::uint32_t i = 0; i < request.repeat; ++i) {
    if (control.is_cancelled()) return fail(ErrorCode::cancelled, "cancelled between group-bys");
    GARUDA_TRY_ASSIGN(auto copy, bench.time([&] {
      return operators::record_copy(bench.context(), "copy", source.address(), target.address(), copied);
    }));
    runs.copies.push_back(std::move(copy));
    GARUDA_TRY_ASSIGN(auto grouped, bench.time([&] { return group_by.record(bench.context()); }));
    runs.group_bys.push_back(std::move(grouped));
  }
  return runs;
}

Record make_record(ComputeBench const& bench, GroupByBenchRequest const& request, std::uint64_t groups,
                   std::uint64_t bytes, Runs const& runs) {
  Record record;
  record.op = "group-by";
  record.path = "compute";
  record.device = bench.device().name();
  record.driver = bench.device().driver();
  record.mode = "resident";
  record.rows = request.workload.rows;
  record.groups = request.workload.groups;
  record.rows_out = groups;
  record.time = summarise(times_of(runs.group_bys));
  record.bytes = bytes;
  record.phases = median_sample(runs.group_bys).phases;
  record.verified = true;
  return record;
}

}  // namespace

Result<GroupByOutcome> run_resident_group_by_bench(GroupByBenchRequest const& request,
                                                   std::string const& compute_tuning) {
  GARUDA_TRY(check(request));
  std::vector<operators::ResidentAggregate> aggregates;
  std::vector<Aggregate> wanted;
  for (auto const function : request.functions) {
    GARUDA_TRY_ASSIGN(auto const resident, function_of(function, request.workload.value_type));
    aggregates.push_back({resident, 0});
    wanted.push_back({function, "v", std::nullopt});
  }
  if (aggregates.size() > operators::kMostResidentAggregates)
    return fail(ErrorCode::usage, fmt::format("--mode resident computes up to {} aggregates: {}",
                                              operators::kMostResidentAggregates, aggregates.size()));
  GARUDA_TRY_ASSIGN(auto const table, generate_group_table(request.workload));
  GARUDA_TRY_ASSIGN(auto bench, ComputeBench::open(request.device.value_or("auto"), std::nullopt,
                                                   [&](auto& tuning, auto const& limits) {
                                                     return operators::apply_tuning(compute_tuning, limits, tuning);
                                                   }));
  GARUDA_TRY_ASSIGN(auto resident, upload_table(*bench, table));
  GARUDA_TRY_ASSIGN(auto group_by, operators::ResidentGroupBy::create(bench->context(), resident.rows, aggregates,
                                                                      expected_groups(request.workload)));
  GARUDA_TRY(group_by.record(bench->context()));
  GARUDA_TRY_ASSIGN(auto const groups, group_by.finish(bench->context()));
  std::uint64_t bytes = request.workload.rows * row_bytes(table.schema());
  {
    GARUDA_TRY_ASSIGN(auto const grouped, download(*bench, table, request, groups));
    bytes += groups.groups * row_bytes(grouped.schema());
    ReferenceGroups const reference(table, request.workload);
    if (auto checked = reference.check(wanted, grouped.batches()); !checked)
      return tl::unexpected(
          std::move(checked).error().wrap(fmt::format("wrong result of path compute on {}", bench->device().name())));
  }
  GroupByOutcome outcome;
  GARUDA_TRY_ASSIGN(auto const runs, sample(*bench, group_by, bytes, request));
  outcome.record = make_record(*bench, request, groups.groups, bytes, runs);
  outcome.choices = fmt::format("{}; time: {}", describe(group_by.grouping(), bench->tuning()), bench->clock());
  outcome.bandwidth = {"copying as many bytes,", per_second(bytes, summarise(times_of(runs.copies)).median_ns)};
  return outcome;
}

}  // namespace garuda::bench
