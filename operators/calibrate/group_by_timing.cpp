#include "operators/calibrate/group_by_timing.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "core/parallel_blocks.hpp"
#include "core/stopwatch.hpp"
#include "keys/numbering/mix.hpp"
#include "operators/group_by/group_by.hpp"
#include "operators/resolve/group_by_columns.hpp"

namespace garuda::calibrate {
namespace {

Result<std::uint64_t> time_run(resolve::GroupByRequest request) {
  GARUDA_TRY_ASSIGN(request.columns, resolve::resolve_group_by(request.table, request.spec));
  Stopwatch const watch;
  GARUDA_TRY_ASSIGN(auto const result, group_by::group_by(std::move(request)));
  while (true) {
    GARUDA_TRY_ASSIGN(auto const next, result->next());
    if (!next) return watch.elapsed_ns();
  }
}

/// Nanoseconds of the fastest of `samples` runs.
Result<std::uint64_t> fastest_of(TableView table, GroupStrategy const& way, int samples, std::uint32_t threads,
                                 contract::DeviceSet& devices, Control const& control) {
  GroupBySpec spec;
  spec.keys = {"key"};
  if (way.sum) spec.aggregates = {{AggregateFunction::sum, "value", std::nullopt}};
  GroupByOptions options;
  options.path = Path::cpu;
  options.threads = threads;
  options.tuning.grouping = way.grouping;
  options.control.cancelled = control.cancelled;
  auto fastest_ns = std::numeric_limits<std::uint64_t>::max();
  for (int sample = 0; sample <= samples; ++sample) {
    GARUDA_TRY_ASSIGN(auto const ns, time_run(resolve::GroupByRequest{table, spec, {}, options, &devices}));
    // The first finds threads asleep, and the table in the caches of the one that made it.
    if (sample > 0) fastest_ns = std::min(fastest_ns, ns);
  }
  return fastest_ns;
}

}  // namespace

Result<std::vector<std::uint64_t>> time_cpu_group_by(TimedGroups const& run, std::uint32_t threads,
                                                     contract::DeviceSet& devices, Control const& control) {
  std::vector<std::int32_t> keys(run.rows);
  GARUDA_TRY(for_each_block((run.rows + kBlockRows - 1) / kBlockRows, &control, [&](std::size_t block) {
    auto const end = std::min(run.rows, (block + 1) * kBlockRows);
    for (auto row = block * kBlockRows; row < end; ++row)
      keys[row] = static_cast<std::int32_t>(keys::mix(row) % run.groups);
  }));
  std::vector<std::int64_t> const values(run.rows, 1);
  Schema const schema{Field{"key", DataType{TypeId::int32}, false}, Field{"value", DataType{TypeId::int64}, false}};
  std::array<ArrayView, 2> columns;
  for (auto& column : columns) {
    column.length = static_cast<std::int64_t>(run.rows);
    column.null_count = 0;
  }
  columns[0].values = keys.data();
  columns[1].values = values.data();
  BatchView const batch{static_cast<std::int64_t>(run.rows), columns};
  TableView const table(schema, std::span(&batch, 1));

  std::vector<std::uint64_t> fastest_ns;
  for (auto const& way : run.ways) {
    GARUDA_TRY_ASSIGN(auto const ns, fastest_of(table, way, run.samples, threads, devices, control));
    fastest_ns.push_back(ns);
  }
  return fastest_ns;
}

}  // namespace garuda::calibrate
