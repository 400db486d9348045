#include "operators/compute/primitives/late_gather.hpp"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "operators/compute/primitives/device_primitives.hpp"
#include "shaders/compute/join/partitioned_join_layout.h"

namespace garuda::compute {
namespace {

constexpr char const* kGatherPhase = "gather";
constexpr std::uint32_t kItems = 4;

constexpr char const* kNullsPhase = "drop null keys";

/// Keys and payload, as they are copied together.
std::vector<DeviceColumn> columns_of(DeviceRows const& rows) {
  std::vector<DeviceColumn> columns{rows.keys};
  columns.insert(columns.end(), rows.payload.begin(), rows.payload.end());
  return columns;
}

}  // namespace

PassShape late_gather_shape() {
  return {"compute/join/late_gather.comp", 0, kItems, sizeof(shaders::LateGatherPush), {}};
}

Result<LateGather> LateGather::create(ComputeContext& context, std::vector<DeviceColumn> sources) {
  GARUDA_EXPECTS(!sources.empty());
  LateGather gather;
  GARUDA_TRY_ASSIGN(gather.columns_,
                    context.device_buffer(sources.size() * sizeof(shaders::JoinedColumn), "gathered columns"));
  gather.sources_ = std::move(sources);
  return gather;
}

void LateGather::set_sources(std::vector<DeviceColumn> sources) {
  GARUDA_EXPECTS(sources.size() == sources_.size());
  sources_ = std::move(sources);
}

Result<void> LateGather::take_rows(ComputeContext& context, std::uint64_t capacity) {
  rows_ = {};
  GARUDA_TRY_ASSIGN(rows_, context.device_buffer(capacity * sizeof(std::uint32_t), "joined row numbers"));
  return {};
}

Result<void> LateGather::record(ComputeContext& context, vk::Buffer const& state,
                                std::span<VkDeviceAddress const> targets, std::uint64_t capacity) {
  GARUDA_EXPECTS(targets.size() == sources_.size());
  std::vector<shaders::JoinedColumn> columns;
  for (std::size_t i = 0; i < targets.size(); ++i)
    columns.push_back({sources_[i].address, targets[i], sources_[i].words, 0});
  GARUDA_TRY(context.update(kGatherPhase, columns_, std::as_bytes(std::span(columns))));
  shaders::LateGatherPush push{};
  push.rows = rows_.address();
  push.columns = columns_.address();
  push.state = state.address();
  push.num_columns = static_cast<std::uint32_t>(columns.size());
  auto const tile = std::uint64_t{context.tuning().group_size} * kItems;
  return context.dispatch(kGatherPhase, late_gather_shape(), push, groups_for(capacity, tile),
                          capacity * columns.size());
}

Result<vk::Buffer> gathered_rows(ComputeContext& context, char const* phase, std::uint64_t rows) {
  GARUDA_TRY_ASSIGN(auto buffer, context.device_buffer(sizeof(shaders::JoinRowsState), "number of rows"));
  shaders::JoinRowsState state{};
  state.cursor = static_cast<std::uint32_t>(rows);
  GARUDA_TRY(context.update(phase, buffer, std::as_bytes(std::span(&state, 1))));
  return buffer;
}

PassShape non_null_shape() { return {"compute/keys/non_null.comp", 0, 1, sizeof(shaders::NonNullPush), {}}; }

Result<NonNullRows> NonNullRows::create(ComputeContext& context, DeviceRows const& shape) {
  GARUDA_EXPECTS(shape.rows > 0);
  if (shape.rows > kMaxScanElements)
    return fail(ErrorCode::limit_exceeded,
                fmt::format("keys with nulls are joined in at most {} rows: {}", kMaxScanElements, shape.rows));
  NonNullRows copies;
  copies.most_rows_ = shape.rows;
  copies.numbers_rows_ = shape.number_rows;
  copies.key_words_ = shape.keys.words;
  GARUDA_TRY_ASSIGN(copies.scan_, DeviceScan::create(context, shape.rows));
  GARUDA_TRY_ASSIGN(copies.flags_, context.device_buffer(shape.rows * 4, "rows with keys"));
  GARUDA_TRY_ASSIGN(copies.state_, context.device_buffer(sizeof(shaders::JoinRowsState), "number of rows"));
  GARUDA_TRY_ASSIGN(copies.gather_, LateGather::create(context, columns_of(shape)));
  GARUDA_TRY(copies.gather_->take_rows(context, shape.rows));
  for (auto const& column : columns_of(shape)) {
    GARUDA_TRY_ASSIGN(auto copy, context.device_buffer(shape.rows * column.words * 4, "rows with keys"));
    copies.columns_.push_back(std::move(copy));
  }
  for (auto const& column : shape.payload) copies.words_.push_back(column.words);
  return copies;
}

Result<DeviceRows> NonNullRows::copy(ComputeContext& context, DeviceRows const& rows, NullFlags flags) {
  GARUDA_EXPECTS(rows.rows > 0 && rows.rows <= most_rows_ && rows.payload.size() == words_.size());
  shaders::NonNullPush push{};
  push.nulls = flags.words;
  push.flags = flags_.address();
  push.num_rows = static_cast<std::uint32_t>(rows.rows);
  push.bit = flags.bit;
  GARUDA_TRY(context.dispatch_each(kNullsPhase, non_null_shape(), push, rows.rows));
  GARUDA_TRY(record_compact(context, kNullsPhase, scan_, flags_.address(), gather_->rows(), rows.rows));
  GARUDA_TRY_ASSIGN(auto const left, scan_.read_total(context, kNullsPhase));
  shaders::JoinRowsState state{};
  state.cursor = static_cast<std::uint32_t>(left);
  GARUDA_TRY(context.update(kNullsPhase, state_, std::as_bytes(std::span(&state, 1))));
  gather_->set_sources(columns_of(rows));
  std::vector<VkDeviceAddress> targets;
  for (auto const& column : columns_) targets.push_back(column.address());
  if (left > 0) GARUDA_TRY(gather_->record(context, state_, targets, left));
  return target(left);
}

DeviceRows NonNullRows::shape() const { return target(most_rows_); }

DeviceRows NonNullRows::target(std::uint64_t rows) const {
  DeviceRows result;
  result.rows = rows;
  result.keys = {columns_[0].address(), key_words_};
  if (numbers_rows_) result.payload.push_back({gather_->rows(), 1});
  for (std::size_t i = 0; i < words_.size(); ++i) result.payload.push_back({columns_[i + 1].address(), words_[i]});
  return result;
}

}  // namespace garuda::compute
