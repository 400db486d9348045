#include "operators/compute/join/rows_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "shaders/compute/join/partitioned_join_layout.h"

namespace garuda::compute {
namespace {

constexpr char const* kTasksPhase = "tasks";
constexpr std::uint32_t kMostBits = 24;
constexpr char const* kJoinPhase = "join";
// Rows of the result, a row of the larger side, from which the rows of a key are listed together. 2^22 x 2^22 rows with
// 8 matches each take 0.36 to 0.50 ms on an H200 (2026-11) where they are chained.
constexpr std::uint64_t kManyMatches = 2;
// Most shares of the tasks where one dispatch might take too long; a power of two. The first does one share; each
// further one at most kGrowth times as many as the one before, and no more than that one's time allows: rows of a key
// multiply, so that no estimate says what tasks take.
constexpr std::uint32_t kMostShares = 1024;
constexpr std::uint32_t kGrowth = 32;

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

/// The pass that writes the result's columns, or counts its rows. `listed`: for rows that may have several matches
/// each. `writes_keys`: keys are among them. `marks`: as kSpecMarks.
PassShape join_rows_shape(ComputeTuning const& tuning, std::uint32_t key_words, ColumnsAhead const& ahead, bool listed,
                          bool writes_keys, std::uint32_t marks) {
  GARUDA_EXPECTS(ahead.build_words <= 2 && ahead.probe_words <= 2 && join_chunk_rows(tuning) <= shaders::kMaxChunkRows);
  return {listed ? "compute/join/join_lists.comp" : "compute/join/join_rows.comp",
          tuning.join.group_size,
          tuning.join.items,
          sizeof(shaders::JoinRowsPush),
          {{shaders::kSpecWords, key_words},
           {shaders::kSpecScratch, join_rows_scratch_words(tuning, key_words, ahead, listed)},
           {shaders::kSpecLog2Slots, tuning.join.log2_slots},
           {shaders::kSpecBuildWords, ahead.build_words},
           {shaders::kSpecProbeWords, ahead.probe_words},
           {shaders::kSpecKeysOut, writes_keys ? key_words : 0},
           {shaders::kSpecMarks, marks}}};
}

std::uint32_t marks_of(JoinedRows const& rows) {
  return (rows.build_marks != 0 ? shaders::kMarkBuild : 0) | (rows.probe_marks != 0 ? shaders::kMarkProbe : 0) |
         (rows.marks_only ? shaders::kMarkOnly : 0);
}

PassShape task_shape(bool listed) {
  return {
      listed ? "compute/join/list_tasks.comp" : "compute/join/count_tasks.comp", 0, 1, sizeof(shaders::TasksPush), {}};
}

/// Partitions that one side's skew splits; tasks of partitions heavy on both sides are counted first.
std::uint64_t first_tasks(std::uint32_t bits, std::uint64_t build_rows, std::uint64_t probe_rows,
                          ComputeTuning const& tuning) {
  auto const chunk = join_chunk_rows(tuning);
  return (std::uint64_t{1} << bits) + build_rows / chunk + probe_rows / chunk + 1;
}

}  // namespace

std::uint32_t join_radix_bits(std::uint64_t build_rows, ComputeTuning const& tuning) noexcept {
  // Hashed partitions vary by a few times the square root of their mean: 8 of 9 parts leave room for that.
  auto const mean = std::max<std::uint64_t>(join_chunk_rows(tuning) / 9 * 8, 1);
  auto const partitions = std::max<std::uint64_t>(groups_for(build_rows, mean), 2);
  return std::min(static_cast<std::uint32_t>(std::bit_width(partitions - 1)), kMostBits);
}

Result<RowsJoin> RowsJoin::create(ComputeContext& context, std::uint32_t bits, std::uint64_t build_rows,
                                  std::uint64_t probe_rows, std::size_t payload_columns) {
  RowsJoin join;
  GARUDA_TRY_ASSIGN(join.state_, context.device_buffer(sizeof(shaders::JoinRowsState), "join state"));
  GARUDA_TRY_ASSIGN(join.columns_,
                    context.device_buffer((payload_columns + 1) * sizeof(shaders::JoinedColumn), "result columns"));
  join.partitions_ = 1U << bits;
  GARUDA_TRY_ASSIGN(join.task_counts_, context.device_buffer(std::uint64_t{join.partitions_} * 4, "task counts"));
  GARUDA_TRY_ASSIGN(join.task_starts_, context.device_buffer(std::uint64_t{join.partitions_} * 4, "task starts"));
  GARUDA_TRY_ASSIGN(join.dispatch_, context.device_buffer(16, "dispatch of tasks"));
  GARUDA_TRY_ASSIGN(join.scan_, DeviceScan::create(context, join.partitions_));
  GARUDA_TRY(join.take_tasks(context, first_tasks(bits, build_rows, probe_rows, context.tuning())));
  return join;
}

Result<void> RowsJoin::take_tasks(ComputeContext& context, std::uint64_t tasks) {
  GARUDA_TRY_ASSIGN(tasks_, context.device_buffer(tasks * sizeof(shaders::JoinTask), "tasks"));
  max_tasks_ = tasks;
  max_task_rows_ = static_cast<std::uint32_t>(std::max<std::uint64_t>(kMostJoinedRows / tasks, 1));
  return {};
}

/// Counts the tasks, or lists them once they are counted.
Result<void> RowsJoin::record_tasks(ComputeContext& context, bool listed) {
  auto const& tuning = context.tuning();
  shaders::TasksPush push{};
  push.build_starts = build_->starts().address();
  push.probe_starts = probe_->starts().address();
  push.task_counts = task_counts_.address();
  push.task_starts = task_starts_.address();
  push.num_tasks = scan_.total().address();
  push.tasks = tasks_.address();
  push.dispatch = dispatch_.address();
  push.num_partitions = partitions_;
  push.max_tasks = static_cast<std::uint32_t>(max_tasks_);
  push.chunk_rows = join_chunk_rows(tuning);
  push.max_groups_x = context.lane().device().traits().limits.max_workgroup_count[0];
  push.tasks_each = tuning.join.tasks;
  push.many_groups = tuning.join.groups;
  push.most_shares = most_shares_;
  auto const items = listed ? max_tasks_ : partitions_;
  return context.dispatch(kTasksPhase, task_shape(listed), push, groups_for(items, tuning.group_size), items);
}

std::uint64_t RowsJoin::items_of(std::uint64_t rows) const noexcept {
  return build_->rows() + probe_->rows() + rows * (1 + rows_.build.size() + rows_.probe.size());
}

/// One share where a submission holds all tasks: on a discrete GPU as far as rows are expected, elsewhere, where other
/// work needs the device or takes from it, whatever the keys are.
void RowsJoin::scatter_rows(ComputeContext& context) {
  auto items = items_;
  if (context.lane().device().traits().type != vk::DeviceType::discrete) {
    auto const chunk = std::uint64_t{join_chunk_rows(context.tuning())};
    items = std::max(items, std::min(chunk * chunk * max_tasks_, build_->rows() * probe_->rows()));
  }
  most_shares_ = context.parts_of(kJoinPhase, items) > 1 ? kMostShares : 1;
}

Result<void> RowsJoin::record(ComputeContext& context, PartitionedSide const& build, PartitionedSide const& probe,
                              JoinedRows rows) {
  GARUDA_EXPECTS(rows.capacity > 0 && rows.capacity <= kMostJoinedRows);
  build_ = &build;
  probe_ = &probe;
  rows_ = std::move(rows);
  max_task_rows_ = static_cast<std::uint32_t>(std::max<std::uint64_t>(kMostJoinedRows / max_tasks_, 1));
  GARUDA_EXPECTS(build.num_partitions() == partitions_ && probe.num_partitions() == partitions_);
  items_ = items_of(rows_.expected);
  scatter_rows(context);
  GARUDA_TRY(record_tasks(context, false));
  GARUDA_TRY(scan_.record(context, kTasksPhase, {task_counts_.address(), task_starts_.address(), partitions_}));
  GARUDA_TRY(record_tasks(context, true));
  return record_rows(context);
}

Result<void> RowsJoin::record_rows(ComputeContext& context) {
  bool const listed = !rows_.marks_only &&
                      (rows_.expected == 0 || rows_.expected / kManyMatches > std::max(build_->rows(), probe_->rows()));
  bool const writes = !rows_.build.empty() || !rows_.probe.empty();
  auto const ahead = writes ? columns_ahead(*build_, *probe_, context.tuning(), listed) : ColumnsAhead{};
  shaders::JoinRowsPush push{};
  std::vector<shaders::JoinedColumn> columns;
  auto const add = [&](PartitionedSide const& side, std::vector<VkDeviceAddress> const& targets, std::uint32_t from,
                       bool is_first_ahead, shaders::JoinedColumn& first) {
    GARUDA_EXPECTS(!writes || side.num_payload() == targets.size());
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
  push.num_columns = static_cast<std::uint32_t>(columns.size());
  auto const marks = marks_of(rows_);
  if (marks != 0) columns.push_back({rows_.build_marks, rows_.probe_marks, 0, 0});
  if (!columns.empty()) GARUDA_TRY(context.update(kTasksPhase, columns_, std::as_bytes(std::span(columns))));
  GARUDA_TRY(context.fill(kTasksPhase, state_, 0));
  push.tasks = tasks_.address();
  push.dispatch = dispatch_.address();
  push.build_keys = build_->keys().address();
  push.probe_keys = probe_->keys().address();
  push.columns = columns_.address();
  push.state = state_.address();
  push.keys_out = rows_.keys;
  push.capacity = static_cast<std::uint32_t>(rows_.capacity);
  push.max_task_rows = max_task_rows_;
  auto const shape = join_rows_shape(context.tuning(), build_->key_words(), ahead, listed, rows_.keys != 0, marks);
  push.shares = 1;
  push.end_share = 1;
  if (most_shares_ > 1) return record_shares(context, shape, push);
  context.submissions().add_counter("join_parts", 1);
  return context.dispatch_indirect(kJoinPhase, shape, push, dispatch_, 0, items_);
}

/// The time of each dispatch says how many shares the next one does.
Result<void> RowsJoin::record_shares(ComputeContext& context, PassShape const& shape, shaders::JoinRowsPush push) {
  auto const& tuning = context.tuning();
  // Waits for what was recorded, whose time is not that of the tasks.
  GARUDA_TRY_ASSIGN(auto const counted, scan_.read_total(context, kTasksPhase));
  auto const tasks = std::min(counted, max_tasks_);
  auto const each = std::clamp<std::uint64_t>(tasks / tuning.join.groups, 1, tuning.join.tasks);
  auto const aim_ns = context.lane().device().pace().aim_ns();
  push.shares = static_cast<std::uint32_t>(std::bit_floor(std::clamp<std::uint64_t>(tasks, 1, most_shares_)));
  std::uint32_t take = 1;
  for (push.first_share = 0; push.first_share < push.shares; push.first_share = push.end_share) {
    push.end_share = std::min(push.first_share + take, push.shares);
    auto const of_shares = [&](std::uint64_t all) {
      return all * (push.end_share - push.first_share) / push.shares + 1;
    };
    Stopwatch const watch;
    GARUDA_TRY(context.dispatch_striding(kJoinPhase, shape, push, groups_for(of_shares(tasks), each), of_shares(items_),
                                         push.first_share > 0));
    context.submissions().add_counter("join_parts", 1);
    if (push.end_share == push.shares) break;
    GARUDA_TRY(context.submissions().finish());
    auto const fits = aim_ns / static_cast<double>(std::max<std::uint64_t>(watch.elapsed_ns(), 1)) * take;
    take = static_cast<std::uint32_t>(std::clamp(fits, 1.0, static_cast<double>(kGrowth) * take));
  }
  return {};
}

Result<RowsJoin::Outcome> RowsJoin::finish(ComputeContext& context) {
  GARUDA_EXPECTS(build_ != nullptr);
  for (bool again = false;; again = true) {
    GARUDA_TRY_ASSIGN(auto const state, context.read_value<shaders::JoinRowsState>(kJoinPhase, state_));
    GARUDA_TRY_ASSIGN(auto const tasks, scan_.read_total(context, kTasksPhase));
    auto const rows = (std::uint64_t{state.rest_high} << 32 | state.rest_low) + state.cursor;
    if (tasks >> 32 != 0)
      return fail(ErrorCode::limit_exceeded,
                  fmt::format("the join falls into more pairs of chunks than are listed, 2^32: {}", tasks));
    if (tasks > max_tasks_) {
      // More tasks than one side's skew makes: all of them are needed to count the rows.
      GARUDA_TRY(take_tasks(context, tasks));
      items_ = std::max(items_, tasks * join_chunk_rows(context.tuning()));
      scatter_rows(context);
      GARUDA_TRY(record_tasks(context, true));
      GARUDA_TRY(record_rows(context));
      continue;
    }
    if (state.incomplete == 0) return Outcome{rows, true, again};
    if (rows > rows_.capacity) return Outcome{rows, false, again};
    // The total is known and fits 32 bits, so no task can make the cursor wrap.
    max_task_rows_ = static_cast<std::uint32_t>(kMostJoinedRows);
    items_ = std::max(items_, items_of(rows));
    scatter_rows(context);
    GARUDA_TRY(record_tasks(context, true));
    GARUDA_TRY(record_rows(context));
  }
}

std::uint64_t rows_join_bytes(PartitionedRows build, PartitionedRows probe, ComputeTuning const& tuning) noexcept {
  auto const bits = join_radix_bits(std::max<std::uint64_t>(build.rows, 1), tuning);
  auto const copies = std::min<std::uint64_t>(bits_of_passes(bits, partition_bits(tuning)).size(), 2);
  return (build.rows * build.row_bytes + probe.rows * probe.row_bytes) * copies +
         radix_scratch_bytes(build.rows, bits, tuning) + radix_scratch_bytes(probe.rows, bits, tuning) +
         first_tasks(bits, build.rows, probe.rows, tuning) * (sizeof(shaders::JoinTask) + 8);
}

std::vector<vk::ComputePipelineSpec> rows_join_pipelines(ComputeTuning const& tuning) {
  std::vector<vk::ComputePipelineSpec> specs;
  for (bool const listed : {false, true}) specs.push_back(compute_pipeline(task_shape(listed), tuning));
  for (std::uint32_t const key_words : {1U, 2U}) {
    for (auto const& ahead : {ColumnsAhead{0, 0}, ColumnsAhead{1, 1}, ColumnsAhead{1, 2}})
      for (bool const listed : {false, true})
        specs.push_back(compute_pipeline(join_rows_shape(tuning, key_words, ahead, listed, true, 0), tuning));
    for (auto const& ahead : {ColumnsAhead{0, 0}, ColumnsAhead{1, 1}})
      specs.push_back(compute_pipeline(join_rows_shape(tuning, key_words, ahead, true, false, 0), tuning));
    constexpr auto kBoth = shaders::kMarkBuild | shaders::kMarkProbe;
    for (bool const listed : {false, true})
      specs.push_back(compute_pipeline(join_rows_shape(tuning, key_words, {1, 1}, listed, true, kBoth), tuning));
    specs.push_back(
        compute_pipeline(join_rows_shape(tuning, key_words, {}, false, false, kBoth | shaders::kMarkOnly), tuning));
  }
  return specs;
}

}  // namespace garuda::compute
