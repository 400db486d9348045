#include "operators/compute/rows_join.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "operators/compute/join_passes.hpp"
#include "shaders/compute/partitioned_join_layout.h"

namespace garuda::operators {
namespace {

constexpr char const* kTasksPhase = "tasks";
constexpr char const* kJoinPhase = "join";

}  // namespace

Result<RowsJoin> RowsJoin::create(ComputeContext& context, std::uint32_t bits, std::uint64_t build_rows,
                                  std::uint64_t probe_rows, std::size_t payload_columns) {
  RowsJoin join;
  GARUDA_TRY_ASSIGN(join.state_, context.device_buffer(sizeof(shaders::JoinRowsState), "join state"));
  GARUDA_TRY_ASSIGN(join.columns_,
                    context.device_buffer((payload_columns + 1) * sizeof(shaders::JoinedColumn), "result columns"));
  GARUDA_TRY_ASSIGN(join.tasks_, JoinTasks::create(context, 1U << bits));
  auto const chunk = join_chunk_rows(context.tuning());
  // Partitions that one side's skew splits; tasks of partitions heavy on both sides are counted first.
  join.max_tasks_ = (std::uint64_t{1} << bits) + build_rows / chunk + probe_rows / chunk + 1;
  return join;
}

Result<void> RowsJoin::record(ComputeContext& context, PartitionedSide const& build, PartitionedSide const& probe,
                              JoinedRows rows) {
  GARUDA_EXPECTS(rows.capacity > 0 && rows.capacity <= kMostJoinedRows);
  build_ = &build;
  probe_ = &probe;
  rows_ = std::move(rows);
  max_task_rows_ = static_cast<std::uint32_t>(std::max<std::uint64_t>(kMostJoinedRows / max_tasks_, 1));
  GARUDA_TRY(tasks_.record_count(context, build, probe));
  GARUDA_TRY(tasks_.record_list(context, build, probe, max_tasks_));
  return record_rows(context);
}

Result<void> RowsJoin::record_rows(ComputeContext& context) {
  std::vector<shaders::JoinedColumn> columns;
  columns.push_back({probe_->keys().address(), rows_.keys, probe_->key_words(), shaders::kFromKey});
  auto const& probe = probe_->columns().payload;
  auto const& build = build_->columns().payload;
  GARUDA_EXPECTS(probe.size() == rows_.probe.size() && build.size() == rows_.build.size());
  for (std::size_t i = 0; i < probe.size(); ++i)
    columns.push_back({probe_->payload(i).address(), rows_.probe[i], probe[i].words, shaders::kFromProbe});
  for (std::size_t i = 0; i < build.size(); ++i)
    columns.push_back({build_->payload(i).address(), rows_.build[i], build[i].words, shaders::kFromBuild});
  GARUDA_TRY(context.update(kTasksPhase, columns_, std::as_bytes(std::span(columns))));
  GARUDA_TRY(context.fill(kTasksPhase, state_, 0));
  shaders::JoinRowsPush push{};
  push.tasks = tasks_.tasks().address();
  push.num_tasks = tasks_.count().address();
  push.build_keys = build_->keys().address();
  push.probe_keys = probe_->keys().address();
  push.columns = columns_.address();
  push.state = state_.address();
  push.max_tasks = static_cast<std::uint32_t>(tasks_.max_tasks());
  push.num_columns = static_cast<std::uint32_t>(columns.size());
  push.capacity = static_cast<std::uint32_t>(rows_.capacity);
  push.max_task_rows = max_task_rows_;
  auto const shape = join_shape(JoinComputePass::rows, context.tuning(), build_->key_words());
  return context.dispatch_indirect(kJoinPhase, shape, push, tasks_.dispatch(), 0, build_->rows() + probe_->rows());
}

Result<RowsJoin::Outcome> RowsJoin::finish(ComputeContext& context) {
  GARUDA_EXPECTS(build_ != nullptr);
  while (true) {
    GARUDA_TRY(context.order_all(kJoinPhase));
    shaders::JoinRowsState state{};
    GARUDA_TRY(context.read_back(kJoinPhase, state_, 0,
                                 std::as_writable_bytes(std::span<shaders::JoinRowsState, 1>(&state, 1))));
    GARUDA_TRY_ASSIGN(auto const tasks, tasks_.read_count(context));
    auto const rows = std::uint64_t{state.total_high} << 32 | state.total_low;
    if (tasks > tasks_.max_tasks()) {
      // More tasks than one side's skew makes: all of them are needed to count the rows.
      max_tasks_ = tasks;
      max_task_rows_ = static_cast<std::uint32_t>(std::max<std::uint64_t>(kMostJoinedRows / tasks, 1));
      GARUDA_TRY(tasks_.record_list(context, *build_, *probe_, max_tasks_));
      GARUDA_TRY(record_rows(context));
      continue;
    }
    if (state.incomplete == 0) return Outcome{rows, true};
    if (rows > rows_.capacity) return Outcome{rows, false};
    // The total is known and fits 32 bits, so no task can make the cursor wrap.
    max_task_rows_ = static_cast<std::uint32_t>(kMostJoinedRows);
    GARUDA_TRY(record_rows(context));
  }
}

}  // namespace garuda::operators
