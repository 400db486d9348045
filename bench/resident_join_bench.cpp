#include "bench/resident_join_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/reference_join.hpp"
#include "bench/resident_table.hpp"
#include "garuda/control.hpp"
#include "operators/compute/device_primitives.hpp"
#include "operators/compute/join_passes.hpp"
#include "operators/compute/resident_join.hpp"

namespace garuda::bench {
namespace {

/// The result in host memory: left columns, then right columns without the key.
Result<Table> download(ComputeBench& bench, JoinTables const& tables, operators::ResidentResult const& result) {
  TableBuilder builder(result.rows);
  auto const add = [&](Field const& field, vk::Buffer const& buffer) {
    return download_column(bench, builder, field.name, field.type, buffer, result.rows);
  };
  GARUDA_TRY(add(tables.left.schema()[0], *result.keys));
  for (std::size_t c = 0; c < result.left.size(); ++c) GARUDA_TRY(add(tables.left.schema()[c + 1], *result.left[c]));
  for (std::size_t c = 0; c < result.right.size(); ++c) GARUDA_TRY(add(tables.right.schema()[c + 1], *result.right[c]));
  return builder.finish();
}

Result<void> check(JoinBenchRequest const& request) {
  bool const is_compute = request.paths.size() == 1 && request.paths[0] == Path::compute;
  if (!is_compute) return fail(ErrorCode::usage, "--mode resident joins on one path: --path compute or --path cuda");
  if (request.floor) return fail(ErrorCode::usage, "--floor draws what --path graphics draws");
  if (request.repeat == 0) return fail(ErrorCode::usage, "--repeat must be at least 1: 0");
  auto const ratio = request.workload.match_ratio;
  if (ratio >= 0 && ratio <= 1) return {};
  return fail(ErrorCode::usage, fmt::format("match ratio out of range [0, 1]: {}", ratio));
}

std::string describe(operators::ComputeTuning const& tuning, std::uint64_t build_rows) {
  return fmt::format("subgroup {}, partition {} × {} × {} tiles{}, {} radix bits, join {} × {} rows, {} slots",
                     tuning.subgroup_size, tuning.partition_group_size, tuning.partition_items, tuning.partition_tiles,
                     tuning.stable_join ? " stable" : "", operators::join_radix_bits(build_rows, tuning),
                     tuning.join_group_size, tuning.join_items, 1U << tuning.join_log2_slots);
}

/// What the outcome is made of.
struct Runs {
  std::vector<PhaseSample> joins;
  std::vector<PhaseSample> copies;
};

Result<Runs> sample(ComputeBench& bench, operators::ResidentJoin& join, std::uint64_t bytes,
                    JoinBenchRequest const& request) {
  auto const copied = std::max<std::uint64_t>(bytes / 2 / 16 * 16, 16);
  GARUDA_TRY_ASSIGN(auto const source, bench.context().device_buffer(copied, "copy source"));
  GARUDA_TRY_ASSIGN(auto const target, bench.context().device_buffer(copied, "copy target"));
  Control control;
  control.cancelled = request.cancelled;
  Runs runs;
  for (std::uint32_t i = 0; i < request.repeat; ++i) {
    if (control.is_cancelled()) return fail(ErrorCode::cancelled, "cancelled between joins");
    GARUDA_TRY_ASSIGN(auto copy, bench.time([&] {
      return operators::record_copy(bench.context(), "copy", source.address(), target.address(), copied);
    }));
    runs.copies.push_back(std::move(copy));
    GARUDA_TRY_ASSIGN(auto joined, bench.time([&] { return join.record(bench.context()); }));
    runs.joins.push_back(std::move(joined));
  }
  return runs;
}

/// Read and written once: inputs and result.
std::uint64_t moved_bytes(JoinTables const& tables, std::uint64_t rows_out) {
  auto const left_bytes = row_bytes(tables.left.schema());
  auto const right_bytes = row_bytes(tables.right.schema());
  auto const key_bytes = static_cast<std::uint64_t>(byte_width(tables.right.schema()[0].type));
  return static_cast<std::uint64_t>(tables.left.num_rows()) * left_bytes +
         static_cast<std::uint64_t>(tables.right.num_rows()) * right_bytes +
         rows_out * (left_bytes + right_bytes - key_bytes);
}

Record make_record(ComputeBench const& bench, JoinTables const& tables, std::uint64_t rows_out, Runs const& runs) {
  Record record;
  record.op = "join";
  record.path = "compute";
  record.device = bench.device().name();
  record.driver = bench.device().driver();
  record.mode = "resident";
  record.rows_left = static_cast<std::uint64_t>(tables.left.num_rows());
  record.rows_right = static_cast<std::uint64_t>(tables.right.num_rows());
  record.rows_out = rows_out;
  record.time = summarise(times_of(runs.joins));
  record.bytes = moved_bytes(tables, rows_out);
  record.phases = median_sample(runs.joins).phases;
  record.verified = true;
  return record;
}

}  // namespace

Result<JoinOutcome> run_resident_join_bench(JoinBenchRequest const& request, std::string const& compute_tuning) {
  GARUDA_TRY(check(request));
  GARUDA_TRY_ASSIGN(auto const tables, generate_join_tables(request.workload));
  ReferenceJoin const reference(tables.left.view(), tables.right.view());
  GARUDA_TRY_ASSIGN(auto bench, ComputeBench::open(request.device.value_or("auto"), std::nullopt,
                                                   [&](auto& tuning, auto const& limits) {
                                                     return operators::apply_tuning(compute_tuning, limits, tuning);
                                                   }));
  GARUDA_TRY_ASSIGN(auto left, upload_table(*bench, tables.left));
  GARUDA_TRY_ASSIGN(auto right, upload_table(*bench, tables.right));
  auto const build_rows = std::min(left.rows.rows, right.rows.rows);
  GARUDA_TRY_ASSIGN(auto join, operators::ResidentJoin::create(bench->context(), left.rows, right.rows,
                                                               max_result_rows(request.workload)));
  GARUDA_TRY(join.record(bench->context()));
  GARUDA_TRY_ASSIGN(auto const result, join.finish(bench->context()));
  {
    GARUDA_TRY_ASSIGN(auto const joined, download(*bench, tables, result));
    if (auto checked = reference.check(joined.schema(), joined.batches()); !checked)
      return tl::unexpected(
          std::move(checked).error().wrap(fmt::format("wrong result of path compute on {}", bench->device().name())));
  }
  JoinOutcome outcome;
  GARUDA_TRY_ASSIGN(auto const runs, sample(*bench, join, moved_bytes(tables, result.rows), request));
  outcome.record = make_record(*bench, tables, result.rows, runs);
  outcome.choices = fmt::format("{}; time: {}", describe(bench->tuning(), build_rows), bench->clock());
  outcome.compared_rows = reference.compares_rows();
  outcome.bandwidth = {"copying as many bytes,",
                       per_second(outcome.record.bytes, summarise(times_of(runs.copies)).median_ns)};
  return outcome;
}

}  // namespace garuda::bench
