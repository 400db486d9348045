#include "operators/compute/join/rows_join.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "operators/compute/join/join_passes.hpp"
#include "shaders/compute/partitioned_join_layout.h"

namespace garuda::compute {
namespace {

constexpr char const* kTasksPhase = "tasks";
constexpr char const* kJoinPhase = "join";
// Rows of the result, a row of the larger side, from which the rows of a key are listed together. 2^22 x 2^22 rows with
// 8 matches each take 0.36 to 0.50 ms on an H200 (2026-11) where they are chained.
constexpr std::uint64_t kManyMatches = 2;

/// The first column of each side comes with the keys when it is narrow; of the build side, while shared memory has
/// room.
ColumnsAhead columns_ahead(PartitionedSide const& build, PartitionedSide const& probe, ComputeTuning const& tuning,
                           bool listed) {
  auto const words = [](PartitionedSide const& side) {
    return side.num_payload() > 0 && side.payload_words(0) <= 2 ? side.payload_words(0) : 0;
  };
  ColumnsAhead ahead{words(build), words(probe)};
  auto const fits = [&] {
    return join_rows_shared_bytes(tuning, build.key_words(), ahead, listed) <= tuning.shared_bytes;
  };
  if (!fits()) ahead.probe_words = 0;
  if (!fits()) ahead.build_words = 0;
  return ahead;
}

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
  bool const listed = rows_.capacity / kManyMatches > std::max(build_->rows(), probe_->rows());
  auto const ahead = columns_ahead(*build_, *probe_, context.tuning(), listed);
  shaders::JoinRowsPush push{};
  std::vector<shaders::JoinedColumn> columns;
  auto const add = [&](PartitionedSide const& side, std::vector<VkDeviceAddress> const& targets, std::uint32_t from,
                       bool is_first_ahead, shaders::JoinedColumn& first) {
    GARUDA_EXPECTS(side.num_payload() == targets.size());
    for (std::size_t i = 0; i < targets.size(); ++i) {
      shaders::JoinedColumn const column{side.payload(i).address(), targets[i], side.payload_words(i), from};
      if (i == 0 && is_first_ahead) {
        first = column;
      } else {
        columns.push_back(column);
      }
    }
  };
  add(*probe_, rows_.probe, shaders::kFromProbe, ahead.probe_words > 0, push.probe);
  add(*build_, rows_.build, shaders::kFromBuild, ahead.build_words > 0, push.build);
  if (!columns.empty()) GARUDA_TRY(context.update(kTasksPhase, columns_, std::as_bytes(std::span(columns))));
  GARUDA_TRY(context.fill(kTasksPhase, state_, 0));
  push.tasks = tasks_.tasks().address();
  push.dispatch = tasks_.dispatch().address();
  push.build_keys = build_->keys().address();
  push.probe_keys = probe_->keys().address();
  push.columns = columns_.address();
  push.state = state_.address();
  push.keys_out = rows_.keys;
  push.num_columns = static_cast<std::uint32_t>(columns.size());
  push.capacity = static_cast<std::uint32_t>(rows_.capacity);
  push.max_task_rows = max_task_rows_;
  auto const shape = join_rows_shape(context.tuning(), build_->key_words(), ahead, listed);
  return context.dispatch_indirect(kJoinPhase, shape, push, tasks_.dispatch(), 0, build_->rows() + probe_->rows());
}

Result<RowsJoin::Outcome> RowsJoin::finish(ComputeContext& context) {
  GARUDA_EXPECTS(build_ != nullptr);
  for (bool again = false;; again = true) {
    GARUDA_TRY(context.order_all(kJoinPhase));
    shaders::JoinRowsState state{};
    GARUDA_TRY(context.read_back(kJoinPhase, state_, 0,
                                 std::as_writable_bytes(std::span<shaders::JoinRowsState, 1>(&state, 1))));
    GARUDA_TRY_ASSIGN(auto const tasks, tasks_.read_count(context));
    auto const rows = (std::uint64_t{state.rest_high} << 32 | state.rest_low) + state.cursor;
    if (tasks > tasks_.max_tasks()) {
      // More tasks than one side's skew makes: all of them are needed to count the rows.
      max_tasks_ = tasks;
      max_task_rows_ = static_cast<std::uint32_t>(std::max<std::uint64_t>(kMostJoinedRows / tasks, 1));
      GARUDA_TRY(tasks_.record_list(context, *build_, *probe_, max_tasks_));
      GARUDA_TRY(record_rows(context));
      continue;
    }
    if (state.incomplete == 0) return Outcome{rows, true, again};
    if (rows > rows_.capacity) return Outcome{rows, false, again};
    // The total is known and fits 32 bits, so no task can make the cursor wrap.
    max_task_rows_ = static_cast<std::uint32_t>(kMostJoinedRows);
    GARUDA_TRY(record_rows(context));
  }
}

}  // namespace garuda::compute
