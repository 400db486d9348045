#include "operators/compute/compute_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "operators/compute/join_passes.hpp"
#include "shaders/compute/partitioned_join_layout.h"

namespace garuda::operators {
namespace {

constexpr char const* kGroupPhase = "group keys";
std::span<std::byte const> bytes_of(KeySpan const& keys) {
  return std::visit([](auto const& words) { return std::as_bytes(words); }, keys.words);
}

std::uint32_t words_of(KeySpan const& keys) {
  return std::holds_alternative<std::span<std::uint64_t const>>(keys.words) ? 2 : 1;
}

static_assert(sizeof(RowPair) == 8);

}  // namespace

ComputeKernel::ComputeKernel(ComputeResources const& resources, JoinSlice const& slice)
    : slice_(slice),
      options_(*resources.options),
      lane_(*resources.lane),
      submissions_(lane_, options_.control, options_.stats),
      context_(lane_, *resources.pipelines, submissions_, *resources.tuning, resources.memory_budget_bytes) {
  bool const left_is_smaller = slice_.left.size() <= slice_.right.size();
  build_side_ = left_is_smaller ? Side::left : Side::right;
  if (options_.tuning.build == BuildSide::left) build_side_ = Side::left;
  if (options_.tuning.build == BuildSide::right) build_side_ = Side::right;
}

Result<std::unique_ptr<JoinKernel>> ComputeKernel::start(ComputeResources const& resources, JoinSlice const& slice) {
  GARUDA_EXPECTS(slice.left.size() <= kMaxPassRows && slice.right.size() <= kMaxPassRows);
  std::unique_ptr<ComputeKernel> kernel(new ComputeKernel(resources, slice));
  if (!kernel->is_empty()) GARUDA_TRY(kernel->start_partitions());
  return std::unique_ptr<JoinKernel>(std::move(kernel));
}

ComputeKernel::~ComputeKernel() {
  // A failure to drain is a lost device: nothing runs any more, and the next call on the lane reports it.
  (void)lane_.drain();
}

Result<DeviceRows> ComputeKernel::upload(Side side) {
  auto const& keys = keys_of(side);
  auto& buffer = side == Side::left ? left_keys_ : right_keys_;
  auto const source = bytes_of(keys);
  GARUDA_TRY_ASSIGN(buffer, context_.upload_buffer(source.size(), side == Side::left ? "left keys" : "right keys"));
  GARUDA_TRY(context_.upload(buffer, 0, source));
  DeviceRows rows;
  rows.rows = keys.size();
  rows.keys = {buffer.address(), words_of(keys)};
  rows.number_rows = true;
  return rows;
}

Result<void> ComputeKernel::start_partitions() {
  auto const probe_side = build_side_ == Side::left ? Side::right : Side::left;
  auto const bits = join_radix_bits(keys_of(build_side_).size(), context_.tuning());
  GARUDA_TRY_ASSIGN(auto build_rows, upload(build_side_));
  GARUDA_TRY_ASSIGN(build_, PartitionedSide::create(context_, std::move(build_rows), bits));
  GARUDA_TRY(build_->record(context_));
  GARUDA_TRY(submissions_.submit());
  GARUDA_TRY_ASSIGN(auto probe_rows, upload(probe_side));
  GARUDA_TRY_ASSIGN(probe_, PartitionedSide::create(context_, std::move(probe_rows), bits));
  GARUDA_TRY(probe_->record(context_));
  return submissions_.submit();
}

Result<void> ComputeKernel::group_build_keys() {
  auto const chunk_rows = join_chunk_rows(context_.tuning());
  GARUDA_TRY_ASSIGN(chunks_, ChunkTable::create(context_, build_->rows(), build_->num_partitions(), chunk_rows));
  GARUDA_TRY(chunks_->record(context_, kGroupPhase, build_->starts().address()));
  shaders::GroupPush push{};
  push.starts = build_->starts().address();
  push.first_chunk = chunks_->first_chunk().address();
  push.chunks = chunks_->chunks().address();
  push.keys = build_->keys().address();
  push.rows = build_->payload(0).address();
  push.num_chunks = static_cast<std::uint32_t>(chunks_->max_chunks());
  auto const shape = join_shape(JoinComputePass::group_chunks, context_.tuning(), build_->key_words());
  return context_.dispatch(kGroupPhase, shape, push, chunks_->max_chunks(), build_->rows());
}

Result<void> ComputeKernel::count_pairs() {
  GARUDA_TRY(group_build_keys());
  GARUDA_TRY_ASSIGN(tasks_, JoinTasks::create(context_, build_->num_partitions()));
  GARUDA_TRY(tasks_->record_count(context_, *build_, *probe_));
  GARUDA_TRY_ASSIGN(num_tasks_, tasks_->read_count(context_));
  if (options_.stats != nullptr) {
    options_.stats->add_counter("device_partitions", build_->num_partitions());
    options_.stats->add_counter("tasks", num_tasks_);
  }
  if (num_tasks_ == 0) {
    count_ = 0;
    return {};
  }
  if (num_tasks_ > kMaxScanElements) {
    return fail(ErrorCode::limit_exceeded, fmt::format("a slice falls into too many pairs of chunks: {}", num_tasks_));
  }
  GARUDA_TRY(tasks_->record_list(context_, *build_, *probe_, num_tasks_));
  GARUDA_TRY_ASSIGN(auto const totals, context_.device_buffer(num_tasks_ * 4, "pairs of tasks"));
  GARUDA_TRY_ASSIGN(offsets_, context_.device_buffer(num_tasks_ * 8, "first pairs of tasks"));
  shaders::JoinCountPush push{};
  push.tasks = tasks_->tasks().address();
  push.build_keys = build_->keys().address();
  push.probe_keys = probe_->keys().address();
  push.totals = totals.address();
  push.num_tasks = static_cast<std::uint32_t>(num_tasks_);
  auto const shape = join_shape(JoinComputePass::count, context_.tuning(), build_->key_words());
  GARUDA_TRY(context_.dispatch(phase::kCount, shape, push, num_tasks_, build_->rows() + probe_->rows()));
  GARUDA_TRY_ASSIGN(auto scan, DeviceScan::create(context_, num_tasks_));
  GARUDA_TRY(scan.record(context_, phase::kPrefix, totals.address(), offsets_.address(), num_tasks_, true));
  GARUDA_TRY_ASSIGN(count_, scan.read_total(context_, phase::kPrefix));
  return {};
}

Result<std::uint64_t> ComputeKernel::count() {
  if (is_empty()) return 0;
  if (!count_) GARUDA_TRY(count_pairs());
  return *count_;
}

Result<void> ComputeKernel::load_window(std::uint64_t first) {
  if (!window_) {
    // Of little memory half is left to what the window's submission takes besides.
    auto const room = std::max<std::uint64_t>(context_.bytes_left() / 2 / sizeof(RowPair), 1);
    window_rows_ = std::min({*count_, context_.tuning().join_window_rows, room});
    GARUDA_TRY_ASSIGN(window_, context_.device_buffer(window_rows_ * sizeof(RowPair), "window of pairs"));
  }
  auto const rows = std::min(*count_ - first, window_rows_);
  shaders::JoinPairsPush push{};
  push.tasks = tasks_->tasks().address();
  push.build_keys = build_->keys().address();
  push.probe_keys = probe_->keys().address();
  push.offsets = offsets_.address();
  push.build_rows = build_->payload(0).address();
  push.probe_rows = probe_->payload(0).address();
  push.pairs = window_.address();
  push.num_tasks = static_cast<std::uint32_t>(num_tasks_);
  push.first_low = static_cast<std::uint32_t>(first);
  push.first_high = static_cast<std::uint32_t>(first >> 32);
  push.num_pairs = static_cast<std::uint32_t>(rows);
  push.build_is_left = build_side_ == Side::left ? 1 : 0;
  auto const shape = join_shape(JoinComputePass::pairs, context_.tuning(), build_->key_words());
  GARUDA_TRY(context_.dispatch(phase::kProbe, shape, push, num_tasks_, build_->rows() + probe_->rows() + rows));
  GARUDA_TRY(context_.order_all(phase::kProbe));
  kept_.resize(rows);
  window_first_ = first;
  GARUDA_TRY(context_.download(window_, std::as_writable_bytes(std::span(kept_))));
  submissions_.count_bytes(phase::kDownload, rows * sizeof(RowPair));
  if (options_.stats != nullptr) options_.stats->add_counter("windows", 1);
  return {};
}

Result<void> ComputeKernel::pairs(std::uint64_t first, std::span<RowPair> out) {
  GARUDA_TRY_ASSIGN(auto const total, count());
  GARUDA_EXPECTS(first <= total && out.size() <= total - first);
  while (!out.empty()) {
    bool const is_kept = first >= window_first_ && first - window_first_ < kept_.size();
    if (!is_kept) GARUDA_TRY(load_window(first));
    auto const kept = std::span(kept_).subspan(first - window_first_);
    auto const taken = std::min(kept.size(), out.size());
    std::ranges::copy(kept.first(taken), out.begin());
    out = out.subspan(taken);
    first += taken;
  }
  return {};
}

Result<MarkBitmap> ComputeKernel::mark(Side side) {
  MarkBitmap bitmap((keys_of(side).size() + 63) / 64);
  GARUDA_TRY_ASSIGN(auto const total, count());
  if (total == 0) return bitmap;
  GARUDA_TRY_ASSIGN(auto const marks, context_.device_buffer(bitmap.size() * 8, "marks"));
  GARUDA_TRY(context_.fill(phase::kMark, marks, 0));
  bool const of_build = side == build_side_;
  shaders::JoinCountPush push{};
  push.tasks = tasks_->tasks().address();
  push.build_keys = build_->keys().address();
  push.probe_keys = probe_->keys().address();
  push.build_rows = build_->payload(0).address();
  push.probe_rows = probe_->payload(0).address();
  push.build_marks = of_build ? marks.address() : 0;
  push.probe_marks = of_build ? 0 : marks.address();
  push.num_tasks = static_cast<std::uint32_t>(num_tasks_);
  auto const shape = join_shape(JoinComputePass::mark, context_.tuning(), build_->key_words());
  GARUDA_TRY(context_.dispatch(phase::kMark, shape, push, num_tasks_, build_->rows() + probe_->rows()));
  GARUDA_TRY(context_.order_all(phase::kMark));
  GARUDA_TRY(context_.download(marks, std::as_writable_bytes(std::span(bitmap))));
  return bitmap;
}

}  // namespace garuda::operators
