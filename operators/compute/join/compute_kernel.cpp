#include "operators/compute/join/compute_kernel.hpp"

#include <fmt/format.h>

#include "operators/compute/join/join_passes.hpp"
#include "shaders/compute/partitioned_join_layout.h"

namespace garuda::compute {
namespace {

constexpr char const* kGroupPhase = "group keys";

}  // namespace

Result<std::unique_ptr<contract::JoinKernel>> ComputeKernel::start(ComputeResources const& resources,
                                                                   contract::JoinSlice const& slice) {
  std::unique_ptr<ComputeKernel> kernel(new ComputeKernel(resources, slice));
  if (!kernel->is_empty()) GARUDA_TRY(kernel->start_partitions());
  return std::unique_ptr<contract::JoinKernel>(std::move(kernel));
}

Result<void> ComputeKernel::start_partitions() {
  auto const bits = join_radix_bits(keys_of(build_side()).size(), context().tuning());
  GARUDA_TRY_ASSIGN(auto build_rows, upload(build_side()));
  GARUDA_TRY_ASSIGN(build_, PartitionedSide::create(context(), std::move(build_rows), bits));
  GARUDA_TRY(build_->record(context()));
  GARUDA_TRY(submissions().submit());
  GARUDA_TRY_ASSIGN(auto probe_rows, upload(probe_side()));
  GARUDA_TRY_ASSIGN(probe_, PartitionedSide::create(context(), std::move(probe_rows), bits));
  GARUDA_TRY(probe_->record(context()));
  return submissions().submit();
}

Result<void> ComputeKernel::group_build_keys() {
  auto const chunk_rows = join_chunk_rows(context().tuning());
  GARUDA_TRY_ASSIGN(chunks_, ChunkTable::create(context(), build_->rows(), build_->num_partitions(), chunk_rows));
  GARUDA_TRY(chunks_->record(context(), kGroupPhase, build_->starts().address()));
  shaders::GroupPush push{};
  push.starts = build_->starts().address();
  push.first_chunk = chunks_->first_chunk().address();
  push.chunks = chunks_->chunks().address();
  push.keys = build_->keys().address();
  push.rows = build_->payload(0).address();
  push.num_chunks = static_cast<std::uint32_t>(chunks_->max_chunks());
  auto const shape = join_shape(JoinComputePass::group_chunks, context().tuning(), build_->key_words());
  return context().dispatch(kGroupPhase, shape, push, chunks_->max_chunks(), build_->rows());
}

Result<std::uint64_t> ComputeKernel::count_pairs() {
  GARUDA_TRY(group_build_keys());
  GARUDA_TRY_ASSIGN(tasks_, JoinTasks::create(context(), build_->num_partitions()));
  GARUDA_TRY(tasks_->record_count(context(), *build_, *probe_));
  GARUDA_TRY_ASSIGN(num_tasks_, tasks_->read_count(context()));
  add_counter("device_partitions", build_->num_partitions());
  add_counter("tasks", num_tasks_);
  if (num_tasks_ == 0) return 0;
  if (num_tasks_ > kMaxScanElements) {
    return fail(ErrorCode::limit_exceeded, fmt::format("a slice falls into too many pairs of chunks: {}", num_tasks_));
  }
  GARUDA_TRY(tasks_->record_list(context(), *build_, *probe_, num_tasks_));
  GARUDA_TRY_ASSIGN(auto const totals, context().device_buffer(num_tasks_ * 4, "pairs of tasks"));
  GARUDA_TRY_ASSIGN(offsets_, context().device_buffer(num_tasks_ * 8, "first pairs of tasks"));
  shaders::JoinCountPush push{};
  push.tasks = tasks_->tasks().address();
  push.build_keys = build_->keys().address();
  push.probe_keys = probe_->keys().address();
  push.totals = totals.address();
  push.num_tasks = static_cast<std::uint32_t>(num_tasks_);
  auto const shape = join_shape(JoinComputePass::count, context().tuning(), build_->key_words());
  GARUDA_TRY(context().dispatch(vulkan::phase::kCount, shape, push, num_tasks_, build_->rows() + probe_->rows()));
  GARUDA_TRY_ASSIGN(auto scan, DeviceScan::create(context(), num_tasks_));
  GARUDA_TRY(
      scan.record(context(), vulkan::phase::kPrefix, {totals.address(), offsets_.address(), num_tasks_, 0, true}));
  return scan.read_total(context(), vulkan::phase::kPrefix);
}

Result<void> ComputeKernel::record_pairs(std::uint64_t first, std::uint64_t rows, vk::Buffer const& window) {
  shaders::JoinPairsPush push{};
  push.tasks = tasks_->tasks().address();
  push.build_keys = build_->keys().address();
  push.probe_keys = probe_->keys().address();
  push.offsets = offsets_.address();
  push.build_rows = build_->payload(0).address();
  push.probe_rows = probe_->payload(0).address();
  push.pairs = window.address();
  push.num_tasks = static_cast<std::uint32_t>(num_tasks_);
  push.first_low = static_cast<std::uint32_t>(first);
  push.first_high = static_cast<std::uint32_t>(first >> 32);
  push.num_pairs = static_cast<std::uint32_t>(rows);
  push.build_is_left = build_side() == Side::left ? 1 : 0;
  auto const shape = join_shape(JoinComputePass::pairs, context().tuning(), build_->key_words());
  return context().dispatch(vulkan::phase::kProbe, shape, push, num_tasks_, build_->rows() + probe_->rows() + rows);
}

Result<void> ComputeKernel::record_marks(Side side, vk::Buffer const& marks) {
  bool const of_build = side == build_side();
  shaders::JoinCountPush push{};
  push.tasks = tasks_->tasks().address();
  push.build_keys = build_->keys().address();
  push.probe_keys = probe_->keys().address();
  push.build_rows = build_->payload(0).address();
  push.probe_rows = probe_->payload(0).address();
  push.build_marks = of_build ? marks.address() : 0;
  push.probe_marks = of_build ? 0 : marks.address();
  push.num_tasks = static_cast<std::uint32_t>(num_tasks_);
  auto const shape = join_shape(JoinComputePass::mark, context().tuning(), build_->key_words());
  return context().dispatch(vulkan::phase::kMark, shape, push, num_tasks_, build_->rows() + probe_->rows());
}

}  // namespace garuda::compute
