#include "operators/device/device_result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "operators/device/strings/string_upload.hpp"
#include "operators/vulkan/vulkan_devices.hpp"

namespace garuda::device {
namespace {

/// Batches on their way while the reader has the one before.
constexpr std::size_t kBatchesAhead = 2;

}  // namespace

DeviceResult::DeviceResult(DeviceTable table, Plan plan, DeviceResultOptions options,
                           std::unique_ptr<run::QueryRun> run)
    : table_(std::move(table)),
      schema_(table_->schema()),
      plan_(std::move(plan)),
      options_(std::move(options)),
      run_(std::move(run)) {}

/// Copies on another queue see what the passes wrote.
Result<void> DeviceResult::open_team() {
  auto const& open = table_->state().device.open;
  GARUDA_TRY_ASSIGN(options_.upload, vulkan::upload_on(*open.device, options_.upload));
  GARUDA_TRY_ASSIGN(lane_, compute::ComputeLane::open(open, options_.control));
  GARUDA_TRY(lane_->context().order_all(vulkan::phase::kDownload));
  GARUDA_TRY(lane_->submissions().submit());
  GARUDA_TRY_ASSIGN(strings_, StringDownload::create(lane_->context(), table_->state(), all_columns(table_->state()),
                                                     std::min(batch_rows(), table_->state().rows)));
  GARUDA_TRY_ASSIGN(down_, vulkan::open_copy_team(*open.device, vk::CopyDirection::down,
                                                  {options_.upload, options_.copy_threads, bytes_of(table_->state()),
                                                   false, options_.control.cancelled}));
  return {};
}

std::uint64_t DeviceResult::batch_rows() const noexcept {
  return std::clamp<std::uint64_t>(plan_.chunk_rows, 1, compute::kMaxScanElements);
}

/// Ranges ahead of the rows that are read.
Result<void> DeviceResult::start_downloads() {
  auto const& state = table_->state();
  if (down_ == nullptr && state.rows > 0) GARUDA_TRY(open_team());
  while (started_ < state.rows && arriving_.size() < kBatchesAhead) {
    auto rows = std::min(batch_rows(), state.rows - started_);
    GARUDA_TRY_ASSIGN(auto gathered, strings_->gather(started_, rows, kMostStringBytes));
    GARUDA_TRY_ASSIGN(auto range,
                      RangeDownload::create(state, {all_columns(state), started_, rows}, std::move(gathered)));
    arriving_.push_back(std::move(range));
    arriving_.back().start(*down_, lane_->submissions().last());
    started_ += rows;
  }
  return {};
}

Result<std::optional<Batch>> DeviceResult::next() {
  if (!table_) return std::nullopt;
  auto batch = take_batch();
  if (!batch) {
    // Threads that copy from the table end before it goes.
    down_.reset();
    table_.reset();
  }
  return batch;
}

Result<std::optional<Batch>> DeviceResult::take_batch() {
  if (options_.control.is_cancelled())
    return fail(ErrorCode::cancelled, fmt::format("the {} was cancelled", options_.operation));
  GARUDA_TRY(start_downloads());
  if (arriving_.empty()) return std::nullopt;
  GARUDA_TRY(arriving_.front().await(*down_, run_->recorder));
  GARUDA_TRY_ASSIGN(auto batch, arriving_.front().finish());
  arriving_.pop_front();
  GARUDA_TRY(start_downloads());
  rows_out_ += static_cast<std::uint64_t>(batch.num_rows);
  if (options_.control.on_progress)
    options_.control.on_progress({options_.operation, rows_out_, table_->num_rows(), rows_out_});
  return std::optional(std::move(batch));
}

RunStats DeviceResult::stats() const {
  auto stats = run_->stats(plan_);
  stats.rows = options_.inputs.rows;
  stats.rows_left = options_.inputs.rows_left;
  stats.rows_right = options_.inputs.rows_right;
  stats.rows_out = rows_out_;
  return stats;
}

Result<DeviceTable> DeviceResult::take_device_table() {
  if (!table_ || rows_out_ > 0)
    return fail(ErrorCode::usage, fmt::format("rows of the {} were read, or taken, before", options_.operation));
  down_.reset();
  arriving_.clear();
  strings_.reset();
  lane_.reset();
  rows_out_ = table_->num_rows();
  auto table = std::move(*table_);
  table_.reset();
  return table;
}

}  // namespace garuda::device
