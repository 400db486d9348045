#include "operators/compute/resident_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "operators/compute/join_passes.hpp"
#include "shaders/compute/partitioned_join_layout.h"

namespace garuda::operators {
namespace {

constexpr char const* kTasksPhase = "tasks";
constexpr char const* kJoinPhase = "join";
constexpr std::uint64_t kMostRows = 0xfffffffe;

std::vector<std::uint32_t> words_of(DeviceRows const& rows) {
  std::vector<std::uint32_t> words;
  for (auto const& column : rows.payload) words.push_back(column.words);
  return words;
}

}  // namespace

Result<ResidentJoin> ResidentJoin::create(ComputeContext& context, DeviceRows left, DeviceRows right,
                                          std::uint64_t expected_rows, vk::MemoryArena* results) {
  GARUDA_EXPECTS(left.keys.words == right.keys.words && !left.number_rows && !right.number_rows);
  ResidentJoin join;
  join.results_ = results;
  GARUDA_TRY_ASSIGN(join.state_, context.device_buffer(sizeof(shaders::JoinRowsState), "join state"));
  join.build_is_left_ = left.rows <= right.rows;
  auto& build = join.build_is_left_ ? left : right;
  auto& probe = join.build_is_left_ ? right : left;
  join.build_words_ = words_of(build);
  join.probe_words_ = words_of(probe);
  auto const columns = build.payload.size() + probe.payload.size() + 1;
  GARUDA_TRY_ASSIGN(join.columns_, context.device_buffer(columns * sizeof(shaders::JoinedColumn), "result columns"));
  auto const bits = join_radix_bits(build.rows, context.tuning());
  auto const chunk = join_chunk_rows(context.tuning());
  // Partitions that one side's skew splits; tasks of partitions heavy on both sides are counted first.
  join.max_tasks_ = (std::uint64_t{1} << bits) + build.rows / chunk + probe.rows / chunk + 1;
  if (build.rows > 0) {
    GARUDA_TRY_ASSIGN(join.build_, PartitionedSide::create(context, std::move(build), bits));
    GARUDA_TRY_ASSIGN(join.probe_, PartitionedSide::create(context, std::move(probe), bits));
    GARUDA_TRY_ASSIGN(join.tasks_, JoinTasks::create(context, 1U << bits));
    join.max_task_rows_ = static_cast<std::uint32_t>(kMostRows / join.max_tasks_);
  }
  GARUDA_TRY(join.take_columns(context, std::clamp<std::uint64_t>(expected_rows, 1, kMostRows)));
  return join;
}

Result<vk::Buffer> ResidentJoin::column_buffer(ComputeContext& context, std::uint64_t bytes, char const* name) {
  if (results_ == nullptr) return context.device_buffer(bytes, name);
  vk::BufferSpec spec;
  spec.bytes = bytes;
  spec.name = name;
  return results_->buffer(spec);
}

Result<void> ResidentJoin::take_columns(ComputeContext& context, std::uint64_t capacity) {
  capacity_ = capacity;
  keys_out_ = {};
  build_out_.clear();
  probe_out_.clear();
  // Columns that were too small: the device is done with them, and nothing else is in their arena.
  if (results_ != nullptr) results_->reset();
  auto const key_words = build_ ? build_->key_words() : 1;
  GARUDA_TRY_ASSIGN(keys_out_, column_buffer(context, capacity * key_words * 4, "joined keys"));
  for (auto const words : build_words_) {
    GARUDA_TRY_ASSIGN(auto column, column_buffer(context, capacity * words * 4, "joined column"));
    build_out_.push_back(std::move(column));
  }
  for (auto const words : probe_words_) {
    GARUDA_TRY_ASSIGN(auto column, column_buffer(context, capacity * words * 4, "joined column"));
    probe_out_.push_back(std::move(column));
  }
  return {};
}

Result<void> ResidentJoin::record_rows(ComputeContext& context) {
  std::vector<shaders::JoinedColumn> columns;
  columns.push_back({probe_->keys().address(), keys_out_.address(), probe_->key_words(), shaders::kFromKey});
  for (std::size_t i = 0; i < probe_out_.size(); ++i)
    columns.push_back({probe_->payload(i).address(), probe_out_[i].address(), probe_words_[i], shaders::kFromProbe});
  for (std::size_t i = 0; i < build_out_.size(); ++i)
    columns.push_back({build_->payload(i).address(), build_out_[i].address(), build_words_[i], shaders::kFromBuild});
  GARUDA_TRY(context.update(kTasksPhase, columns_, std::as_bytes(std::span(columns))));
  GARUDA_TRY(context.fill(kTasksPhase, state_, 0));
  shaders::JoinRowsPush push{};
  push.tasks = tasks_->tasks().address();
  push.num_tasks = tasks_->count().address();
  push.build_keys = build_->keys().address();
  push.probe_keys = probe_->keys().address();
  push.columns = columns_.address();
  push.state = state_.address();
  push.max_tasks = static_cast<std::uint32_t>(tasks_->max_tasks());
  push.num_columns = static_cast<std::uint32_t>(columns.size());
  push.capacity = static_cast<std::uint32_t>(capacity_);
  push.max_task_rows = max_task_rows_;
  auto const shape = join_shape(JoinComputePass::rows, context.tuning(), build_->key_words());
  return context.dispatch_indirect(kJoinPhase, shape, push, tasks_->dispatch(), 0, build_->rows() + probe_->rows());
}

Result<void> ResidentJoin::record(ComputeContext& context) {
  if (!build_) return {};
  GARUDA_TRY(build_->record(context));
  GARUDA_TRY(probe_->record(context));
  GARUDA_TRY(tasks_->record_count(context, *build_, *probe_));
  GARUDA_TRY(tasks_->record_list(context, *build_, *probe_, max_tasks_));
  return record_rows(context);
}

Result<ResidentResult> ResidentJoin::finish(ComputeContext& context) {
  ResidentResult result;
  while (build_) {
    GARUDA_TRY(context.order_all(kJoinPhase));
    shaders::JoinRowsState state{};
    GARUDA_TRY(context.read_back(kJoinPhase, state_, 0,
                                 std::as_writable_bytes(std::span<shaders::JoinRowsState, 1>(&state, 1))));
    GARUDA_TRY_ASSIGN(auto const tasks, tasks_->read_count(context));
    result.rows = std::uint64_t{state.total_high} << 32 | state.total_low;
    if (state.incomplete == 0 && tasks <= tasks_->max_tasks()) break;
    if (tasks > tasks_->max_tasks()) {
      // More tasks than one side's skew makes: all of them are needed to count the rows.
      max_tasks_ = tasks;
      max_task_rows_ = static_cast<std::uint32_t>(std::max<std::uint64_t>(kMostRows / tasks, 1));
      GARUDA_TRY(tasks_->record_list(context, *build_, *probe_, max_tasks_));
      GARUDA_TRY(record_rows(context));
      continue;
    }
    if (result.rows > kMostRows) {
      return fail(ErrorCode::limit_exceeded,
                  fmt::format("the result has more rows than a table on the device, 2^32 - 2: {}", result.rows));
    }
    // The total is known and fits 32 bits, so no task can make the cursor wrap.
    max_task_rows_ = static_cast<std::uint32_t>(kMostRows);
    if (result.rows > capacity_) GARUDA_TRY(take_columns(context, result.rows));
    GARUDA_TRY(record_rows(context));
  }
  result.keys = &keys_out_;
  for (auto const& column : build_out_) (build_is_left_ ? result.left : result.right).push_back(&column);
  for (auto const& column : probe_out_) (build_is_left_ ? result.right : result.left).push_back(&column);
  return result;
}

OwnedResult ResidentJoin::take(std::uint64_t rows) {
  OwnedResult result;
  result.rows = rows;
  result.capacity = capacity_;
  result.keys = std::move(keys_out_);
  result.left = std::move(build_is_left_ ? build_out_ : probe_out_);
  result.right = std::move(build_is_left_ ? probe_out_ : build_out_);
  return result;
}

}  // namespace garuda::operators
