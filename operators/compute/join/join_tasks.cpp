#include "operators/compute/join/join_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "operators/compute/join/join_passes.hpp"
#include "shaders/compute/partitioned_join_layout.h"

namespace garuda::compute {
namespace {

constexpr char const* kPhase = "tasks";
constexpr std::uint32_t kMostBits = 24;

}  // namespace

std::uint32_t join_radix_bits(std::uint64_t build_rows, ComputeTuning const& tuning) noexcept {
  // Hashed partitions vary by a few times the square root of their mean: 8 of 9 parts leave room for that.
  auto const mean = std::max<std::uint64_t>(join_chunk_rows(tuning) / 9 * 8, 1);
  auto const partitions = std::max<std::uint64_t>(groups_for(build_rows, mean), 2);
  return std::min(static_cast<std::uint32_t>(std::bit_width(partitions - 1)), kMostBits);
}

Result<JoinTasks> JoinTasks::create(ComputeContext& context, std::uint32_t partitions) {
  JoinTasks tasks;
  tasks.partitions_ = partitions;
  GARUDA_TRY_ASSIGN(tasks.counts_, context.device_buffer(std::uint64_t{partitions} * 4, "task counts"));
  GARUDA_TRY_ASSIGN(tasks.starts_, context.device_buffer(std::uint64_t{partitions} * 4, "task starts"));
  GARUDA_TRY_ASSIGN(tasks.dispatch_, context.device_buffer(16, "dispatch of tasks"));
  GARUDA_TRY_ASSIGN(tasks.scan_, DeviceScan::create(context, partitions));
  return tasks;
}

namespace {

shaders::TasksPush push_for(ComputeContext& context, PartitionedSide const& build, PartitionedSide const& probe) {
  shaders::TasksPush push{};
  push.build_starts = build.starts().address();
  push.probe_starts = probe.starts().address();
  push.num_partitions = build.num_partitions();
  push.chunk_rows = join_chunk_rows(context.tuning());
  return push;
}

}  // namespace

Result<void> JoinTasks::record_count(ComputeContext& context, PartitionedSide const& build,
                                     PartitionedSide const& probe) {
  GARUDA_EXPECTS(build.num_partitions() == partitions_ && probe.num_partitions() == partitions_);
  auto push = push_for(context, build, probe);
  push.task_counts = counts_.address();
  auto const groups = groups_for(partitions_, context.tuning().group_size);
  GARUDA_TRY(context.dispatch(kPhase, task_shape(false), push, groups, partitions_));
  return scan_.record(context, kPhase, {counts_.address(), starts_.address(), partitions_});
}

Result<std::uint64_t> JoinTasks::read_count(ComputeContext& context) {
  GARUDA_TRY_ASSIGN(auto const count, scan_.read_total(context, kPhase));
  if (count >> 32 == 0) return count;
  return fail(ErrorCode::limit_exceeded,
              fmt::format("the join falls into more pairs of chunks than are listed, 2^32: {}", count));
}

Result<void> JoinTasks::record_list(ComputeContext& context, PartitionedSide const& build, PartitionedSide const& probe,
                                    std::uint64_t max_tasks) {
  GARUDA_EXPECTS(max_tasks > 0 && max_tasks >> 32 == 0);
  if (max_tasks > max_tasks_) {
    GARUDA_TRY_ASSIGN(tasks_, context.device_buffer(max_tasks * sizeof(shaders::JoinTask), "tasks"));
    max_tasks_ = max_tasks;
  }
  auto push = push_for(context, build, probe);
  push.task_starts = starts_.address();
  push.num_tasks = scan_.total().address();
  push.tasks = tasks_.address();
  push.dispatch = dispatch_.address();
  push.max_tasks = static_cast<std::uint32_t>(max_tasks_);
  push.tasks_each = context.tuning().join_tasks;
  push.many_groups = context.tuning().join_groups;
  push.max_groups_x = context.lane().device().traits().limits.max_workgroup_count[0];
  return context.dispatch(kPhase, task_shape(true), push, groups_for(max_tasks_, context.tuning().group_size),
                          max_tasks_);
}

}  // namespace garuda::compute
