#include "bench/join_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "bench/copy_bandwidth.hpp"
#include "bench/raster_floor.hpp"
#include "bench/reference_join.hpp"
#include "core/stopwatch.hpp"
#include "garuda/engine.hpp"
#include "operators/host_memory.hpp"

namespace garuda::bench {
namespace {

// One join, its result whole in host memory.
struct Run {
  std::uint64_t ns = 0;
  Schema schema;
  std::vector<Batch> batches;
  Plan plan;
  RunStats stats;
};

// What is kept of the runs of one path.
struct Series {
  JoinOptions options;
  Plan plan;
  std::vector<std::uint64_t> samples_ns;
  std::vector<RunStats> stats;
  std::unique_ptr<RasterFloor> floor;
  std::vector<std::uint64_t> floor_ns;
};

Result<Run> join_once(Engine& engine, JoinTables const& tables, JoinOptions const& options) {
  JoinSpec spec;
  spec.on = {{"key", "key"}};
  Run run;
  Stopwatch const watch;
  GARUDA_TRY_ASSIGN(auto const result, engine.join(tables.left.view(), tables.right.view(), spec, options));
  while (true) {
    GARUDA_TRY_ASSIGN(auto batch, result->next());
    if (!batch) break;
    run.batches.push_back(std::move(*batch));
  }
  run.ns = watch.elapsed_ns();
  run.schema = result->schema();
  run.plan = result->plan();
  run.stats = result->stats();
  return run;
}

std::vector<JoinChoice> choices_of(JoinBenchRequest const& request) {
  if (!request.choices.empty()) return request.choices;
  std::vector<JoinChoice> choices;
  for (auto const path : request.paths) choices.push_back({path, request.tuning});
  return choices;
}

Result<void> check(JoinBenchRequest const& request) {
  if (request.repeat == 0) return fail(ErrorCode::usage, "--repeat must be at least 1: 0");
  if (choices_of(request).empty()) return fail(ErrorCode::usage, "no path to measure");
  auto const has_graphics = std::ranges::find(request.paths, Path::graphics) != request.paths.end();
  auto const ratio = request.workload.match_ratio;
  if (!(ratio >= 0 && ratio <= 1))
    return fail(ErrorCode::usage, fmt::format("match ratio out of range [0, 1]: {}", ratio));
  if (request.floor && !has_graphics)
    return fail(ErrorCode::usage, "--floor draws what --path graphics draws, which is not among the paths");
  return {};
}

// Inputs, the sorted left side, the result, and for results compared row by row both sides once more while they are
// sorted. Checked first because an operating system that runs out ends the process instead of saying so.
Result<void> check_memory(JoinWorkload const& workload) {
  auto const is_narrow =
      workload.key_type == KeyType::i32 && workload.payload_type.value_or(KeyType::i32) == KeyType::i32;
  auto const value_bytes = is_narrow ? 4.0 : 8.0;
  auto const left_columns = 1.0 + workload.payload_left;
  auto const right_columns = 1.0 + workload.payload_right;
  auto const rows_out = static_cast<double>(max_result_rows(workload));
  auto const is_compared = max_result_rows(workload) <= kMaxComparedRows;
  auto const result_row_bytes = (left_columns + right_columns - 1) * (value_bytes + (is_compared ? 24.0 : 0.0));
  auto const needed = static_cast<double>(workload.rows_left) * (left_columns * value_bytes + 16) +
                      static_cast<double>(workload.rows_right) * right_columns * value_bytes +
                      rows_out * result_row_bytes;
  auto const free = operators::free_host_bytes();
  if (free == 0 || needed <= static_cast<double>(free)) return {};
  return fail(ErrorCode::out_of_memory,
              fmt::format("the tables and {} result rows take {:.1f} GiB, more than is free: {:.1f} GiB",
                          max_result_rows(workload), needed / 0x1p30, static_cast<double>(free) / 0x1p30));
}

Result<Series> verify(Engine& engine, JoinTables const& tables, ReferenceJoin const& reference,
                      JoinBenchRequest const& request, JoinChoice const& choice) {
  auto const path = choice.path;
  Series series;
  series.options.path = path;
  if (path != Path::cpu) series.options.device = request.device;
  series.options.tuning = choice.tuning;
  // Only the pixels of direct addresses are known without running the join.
  if (request.floor && path == Path::graphics && choice.tuning.address == Address::automatic)
    series.options.tuning.address = Address::direct;
  series.options.threads = request.threads;
  series.options.control.cancelled = request.cancelled;
  GARUDA_TRY_ASSIGN(auto const run, join_once(engine, tables, series.options));
  if (auto checked = reference.check(run.schema, run.batches); !checked)
    return tl::unexpected(std::move(checked).error().wrap(
        fmt::format("wrong result of path {} on {}", to_string(run.plan.path), run.plan.device)));
  if (request.floor && run.plan.path == Path::graphics) {
    GARUDA_TRY_ASSIGN(series.floor, RasterFloor::create(run.plan, run.stats, tables));
  }
  series.plan = run.plan;
  return series;
}

Result<void> sample(Engine& engine, JoinTables const& tables, Series& series) {
  GARUDA_TRY_ASSIGN(auto run, join_once(engine, tables, series.options));
  series.samples_ns.push_back(run.ns);
  series.stats.push_back(std::move(run.stats));
  if (!series.floor) return {};
  GARUDA_TRY_ASSIGN(auto const ns, series.floor->run());
  series.floor_ns.push_back(ns);
  return {};
}

Record make_record(JoinTables const& tables, ReferenceJoin const& reference, Series const& series) {
  auto const& median_stats = series.stats[median_position(series.samples_ns)];
  auto const left_bytes = row_bytes(tables.left.schema());
  auto const right_bytes = row_bytes(tables.right.schema());
  auto const key_bytes = static_cast<std::uint64_t>(byte_width(tables.right.schema()[0].type));
  Record record;
  record.op = "join";
  record.path = to_string(series.plan.path);
  record.device = series.plan.device;
  record.driver = driver_of(series.plan, series.options.threads);
  record.mode = "end-to-end";
  record.rows_left = static_cast<std::uint64_t>(tables.left.num_rows());
  record.rows_right = static_cast<std::uint64_t>(tables.right.num_rows());
  record.rows_out = reference.num_rows();
  record.time = summarise(series.samples_ns);
  record.bytes = *record.rows_left * left_bytes + *record.rows_right * right_bytes +
                 record.rows_out * (left_bytes + right_bytes - key_bytes);
  record.phases = median_stats.phases;
  record.verified = true;
  return record;
}

FloorOutcome make_floor(Record const& join, Series const& series) {
  FloorOutcome outcome;
  auto& record = outcome.record;
  record = join;
  record.op = "raster-floor";
  record.mode = "resident";
  record.time = summarise(series.floor_ns);
  record.bytes = series.floor->bytes();
  record.phases = series.floor->median_phases();
  outcome.total_ratio = summarise_ratios(series.samples_ns, series.floor_ns);
  return outcome;
}

}  // namespace

Result<std::vector<JoinOutcome>> run_join_bench(JoinBenchRequest const& request) {
  GARUDA_TRY(check(request));
  GARUDA_TRY(check_memory(request.workload));
  GARUDA_TRY_ASSIGN(auto const tables, generate_join_tables(request.workload));
  ReferenceJoin const reference(tables.left.view(), tables.right.view());

  auto const choices = choices_of(request);
  EngineOptions engine_options;
  engine_options.vulkan = std::ranges::any_of(choices, [](auto const& choice) { return choice.path != Path::cpu; });
  GARUDA_TRY_ASSIGN(auto engine, Engine::create(engine_options));
  std::vector<Series> all;
  for (auto const& choice : choices) {
    GARUDA_TRY_ASSIGN(auto series, verify(engine, tables, reference, request, choice));
    all.push_back(std::move(series));
  }
  for (std::uint32_t i = 0; i < request.repeat; ++i)
    for (auto& series : all) GARUDA_TRY(sample(engine, tables, series));

  std::vector<JoinOutcome> outcomes;
  for (auto const& series : all) {
    JoinOutcome outcome;
    outcome.record = make_record(tables, reference, series);
    outcome.choices =
        fmt::format("{}{}{}", series.plan.tuning, series.plan.tuning.empty() ? "" : "; ", series.plan.reason);
    outcome.compared_rows = reference.compares_rows();
    GARUDA_TRY_ASSIGN(outcome.bandwidth, measure_bandwidth(series.plan));
    if (series.floor) outcome.floor = make_floor(outcome.record, series);
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace garuda::bench
