#include "bench/join_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/copy_bandwidth.hpp"
#include "bench/raster_floor.hpp"
#include "bench/reference_join.hpp"
#include "operators/run/host_memory.hpp"

namespace garuda::bench {
namespace {

using JoinSeries = Series<JoinOptions, RasterFloor>;

auto start_of(Engine& engine, JoinTables const& tables, JoinOptions const& options) {
  return [&] {
    JoinSpec spec;
    spec.on = {{"key", "key"}};
    return engine.join(tables.left.view(), tables.right.view(), spec, options);
  };
}

Result<void> check_ratio(JoinWorkload const& workload) {
  auto const ratio = workload.match_ratio;
  if (ratio >= 0 && ratio <= 1) return {};
  return fail(ErrorCode::usage, fmt::format("match ratio out of range [0, 1]: {}", ratio));
}

// Inputs, the sorted left side and its index, the result, and for results compared row by row both sides once more
// while they are sorted. Checked first because an operating system that runs out ends the process instead of saying so.
Result<void> check_memory(JoinWorkload const& workload, TableMemory memory) {
  auto const is_narrow =
      workload.key_type == KeyType::i32 && workload.payload_type.value_or(KeyType::i32) == KeyType::i32;
  auto const value_bytes = is_narrow ? 4.0 : 8.0;
  auto const left_columns = 1.0 + workload.payload_left;
  auto const right_columns = 1.0 + workload.payload_right;
  auto const rows_out = static_cast<double>(max_result_rows(workload));
  auto const is_compared = max_result_rows(workload) <= kMaxComparedRows;
  auto const result_row_bytes = (left_columns + right_columns - 1) * (value_bytes + (is_compared ? 24.0 : 0.0));
  auto const needed = static_cast<double>(workload.rows_left) * (left_columns * value_bytes + 32) +
                      static_cast<double>(workload.rows_right) * right_columns * value_bytes +
                      rows_out * result_row_bytes;
  // Tables to be pinned are copied.
  auto const left_bytes = static_cast<double>(workload.rows_left) * left_columns * value_bytes;
  auto const right_bytes = static_cast<double>(workload.rows_right) * right_columns * value_bytes;
  auto const pinned = memory == TableMemory::ordinary ? 0.0 : left_bytes + right_bytes;
  auto const free = run::free_host_bytes();
  if (free == 0 || needed + pinned <= static_cast<double>(free)) return {};
  return fail(ErrorCode::out_of_memory,
              fmt::format("the tables and {} result rows take {:.1f} GiB, more than is free: {:.1f} GiB",
                          max_result_rows(workload), (needed + pinned) / 0x1p30, static_cast<double>(free) / 0x1p30));
}

Result<JoinSeries> verify(Engine& engine, JoinTables const& tables, ReferenceJoin const& reference,
                          JoinBenchRequest const& request, Choice<JoinTuning> const& choice) {
  JoinSeries series;
  series.options = options_of<JoinOptions>(request, choice);
  // Only the pixels of direct addresses are known without running the join.
  if (request.floor && choice.path == Path::graphics && choice.tuning.address == Address::automatic)
    series.options.tuning.address = Address::direct;
  GARUDA_TRY_ASSIGN(auto const run, run_once(start_of(engine, tables, series.options)));
  if (auto checked = reference.check(run.schema, run.batches); !checked)
    return tl::unexpected(wrong_result(std::move(checked).error(), run.plan));
  if (request.floor && run.plan.path == Path::graphics) {
    GARUDA_TRY_ASSIGN(series.floor, RasterFloor::create(run.plan, run.stats, tables));
  }
  series.plan = run.plan;
  return series;
}

Record make_record(JoinTables const& tables, ReferenceJoin const& reference, JoinSeries const& series) {
  auto const& median_stats = series.stats[median_position(series.samples_ns)];
  Record record;
  record.op = "join";
  record.path = to_string(series.plan.path);
  record.device = series.plan.device;
  record.driver = driver_of(series.plan, series.options.threads);
  record.mode = "end-to-end";
  record.rows_left = static_cast<std::uint64_t>(tables.left.num_rows());
  record.rows_right = static_cast<std::uint64_t>(tables.right.num_rows());
  record.rows_out = reference.num_rows();
  record.samples_ns = series.samples_ns;
  record.time = summarise(series.samples_ns);
  record.bytes = joined_bytes(tables, record.rows_out);
  record.phases = median_stats.phases;
  record.verified = true;
  return record;
}

/// Copies of the tables in memory that the engine's device reads in place.
Result<JoinTables> pin(Engine& engine, JoinTables const& tables, JoinBenchRequest const& request) {
  DeviceTableOptions options;
  options.device = request.device;
  options.control.cancelled = request.cancelled;
  GARUDA_TRY_ASSIGN(auto left, engine.pin(tables.left.view(), options));
  GARUDA_TRY_ASSIGN(auto right, engine.pin(tables.right.view(), options));
  return JoinTables{std::move(left), std::move(right)};
}

bool is_streamed(Plan const& plan) {
  return std::ranges::any_of(plan.details, [](auto const& detail) { return detail.first == "placement"; });
}

Result<StreamBound> make_bound(JoinTables const& tables, ReferenceJoin const& reference, Record const& record) {
  StreamBound bound;
  GARUDA_TRY_ASSIGN(bound.rates, measure_stream_rates(record.device));
  auto const left_row = row_bytes(tables.left.schema());
  auto const right_row = row_bytes(tables.right.schema());
  auto const key_bytes = static_cast<std::uint64_t>(byte_width(tables.right.schema()[0].type));
  auto const left = static_cast<double>(*record.rows_left * left_row);
  auto const right = static_cast<double>(*record.rows_right * right_row);
  bool const build_is_left = *record.rows_left <= *record.rows_right;
  auto const rows = static_cast<double>(reference.num_rows() * (left_row + right_row - key_bytes));
  auto const build_s = (build_is_left ? left : right) / bound.rates.up_bytes_per_s;
  auto const probe_s = (build_is_left ? right : left) / bound.rates.up_bytes_per_s;
  bound.ns = static_cast<std::uint64_t>((build_s + std::max(probe_s, rows / bound.rates.down_bytes_per_s)) * 1e9);
  bound.ratio = static_cast<double>(record.time.median_ns) / static_cast<double>(std::max<std::uint64_t>(bound.ns, 1));
  return bound;
}

FloorOutcome make_floor(Record const& join, JoinSeries const& series) {
  FloorOutcome outcome;
  auto& record = outcome.record;
  record = join;
  record.op = "raster-floor";
  record.mode = "resident";
  record.samples_ns = series.floor_ns;
  record.time = summarise(series.floor_ns);
  record.bytes = series.floor->bytes();
  record.phases = series.floor->median_phases();
  outcome.total_ratio = summarise_ratios(series.samples_ns, series.floor_ns);
  return outcome;
}

}  // namespace

Result<void> check_join_workload(JoinWorkload const& workload, TableMemory memory) {
  GARUDA_TRY(check_ratio(workload));
  return check_memory(workload, memory);
}

std::uint64_t joined_bytes(JoinTables const& tables, std::uint64_t rows_out) {
  auto const left_bytes = row_bytes(tables.left.schema());
  auto const right_bytes = row_bytes(tables.right.schema());
  auto const key_bytes = static_cast<std::uint64_t>(byte_width(tables.right.schema()[0].type));
  return static_cast<std::uint64_t>(tables.left.num_rows()) * left_bytes +
         static_cast<std::uint64_t>(tables.right.num_rows()) * right_bytes +
         rows_out * (left_bytes + right_bytes - key_bytes);
}

Result<std::vector<JoinOutcome>> run_join_bench(JoinBenchRequest const& request) {
  GARUDA_TRY(check_join_workload(request.workload, request.memory));
  GARUDA_TRY_ASSIGN(auto const tables, generate_join_tables(request.workload));
  return run_join_bench(request, tables, ReferenceJoin(tables.left.view(), tables.right.view()));
}

Result<std::vector<JoinOutcome>> run_join_bench(JoinBenchRequest const& request, JoinTables const& generated,
                                                ReferenceJoin const& reference) {
  GARUDA_TRY(check(request));
  auto const choices = choices_of(request);
  GARUDA_TRY_ASSIGN(auto engine, engine_for(choices));
  std::optional<JoinTables> pinned;
  if (request.memory == TableMemory::pinned) {
    GARUDA_TRY_ASSIGN(pinned, pin(engine, generated, request));
  }
  auto const& tables = pinned ? *pinned : generated;
  std::vector<JoinSeries> all;
  for (auto const& choice : choices) {
    GARUDA_TRY_ASSIGN(auto series, verify(engine, tables, reference, request, choice));
    all.push_back(std::move(series));
  }
  for (std::uint32_t i = 0; i < request.repeat; ++i)
    for (auto& series : all) GARUDA_TRY(sample(series, start_of(engine, tables, series.options)));

  std::vector<JoinOutcome> outcomes;
  for (auto const& series : all) {
    JoinOutcome outcome;
    outcome.record = make_record(tables, reference, series);
    outcome.choices = choices_text(series.plan);
    outcome.compared_rows = reference.compares_rows();
    GARUDA_TRY_ASSIGN(outcome.bandwidth, measure_bandwidth(series.plan));
    if (is_streamed(series.plan)) {
      GARUDA_TRY_ASSIGN(outcome.bound, make_bound(tables, reference, outcome.record));
      outcome.record.bound_ns = outcome.bound->ns;
    }
    if (series.floor) outcome.floor = make_floor(outcome.record, series);
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace garuda::bench
