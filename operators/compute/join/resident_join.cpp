#include "operators/compute/join/resident_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace garuda::compute {
namespace {

std::vector<std::uint32_t> words_of(DeviceRows const& rows) {
  std::vector<std::uint32_t> words;
  for (auto const& column : rows.payload) words.push_back(column.words);
  return words;
}

std::vector<VkDeviceAddress> addresses_of(std::vector<vk::Buffer> const& columns) {
  std::vector<VkDeviceAddress> addresses;
  for (auto const& column : columns) addresses.push_back(column.address());
  return addresses;
}

/// Leaves the payload of `rows` where it is: row numbers move instead. Nothing for a side without payload.
Result<std::optional<LateGather>> gather_later(ComputeContext& context, DeviceRows& rows) {
  if (rows.payload.empty()) return std::optional<LateGather>();
  GARUDA_TRY_ASSIGN(auto gather, LateGather::create(context, std::exchange(rows.payload, {})));
  rows.number_rows = true;
  return std::optional(std::move(gather));
}

Result<void> check_rows(std::uint64_t rows) {
  if (rows <= kMostJoinedRows) return {};
  return fail(ErrorCode::limit_exceeded,
              fmt::format("the result has more rows than a table on the device, 2^32 - 2: {}", rows));
}

}  // namespace

Result<ResidentJoin> ResidentJoin::create(ComputeContext& context, DeviceRows left, DeviceRows right,
                                          std::uint64_t expected_rows, ResidentJoinWay const& way,
                                          vk::MemoryArena* results) {
  GARUDA_EXPECTS(left.keys.words == right.keys.words && !left.number_rows && !right.number_rows);
  GARUDA_EXPECTS(way.method != JoinMethod::automatic);
  ResidentJoin join;
  join.results_ = results;
  join.build_is_left_ = way.build ? *way.build == Side::left : left.rows <= right.rows;
  auto& build = join.build_is_left_ ? left : right;
  auto& probe = join.build_is_left_ ? right : left;
  join.key_words_ = build.keys.words;
  join.build_words_ = words_of(build);
  join.probe_words_ = words_of(probe);
  if (build.rows > 0 && probe.rows > 0) {
    if (way.method == JoinMethod::partitioned) {
      GARUDA_TRY(join.start_partitioned(context, std::move(build), std::move(probe), way.gathers));
    } else {
      bool const sorts_probe = way.method == JoinMethod::sorted;
      GARUDA_TRY_ASSIGN(join.indexed_, IndexedJoin::create(context, std::move(build), std::move(probe), sorts_probe));
    }
  }
  GARUDA_TRY(join.take_columns(context, std::clamp<std::uint64_t>(expected_rows, 1, kMostJoinedRows)));
  return join;
}

Result<void> ResidentJoin::start_partitioned(ComputeContext& context, DeviceRows build, DeviceRows probe,
                                             bool gathers) {
  if (gathers) {
    GARUDA_TRY_ASSIGN(build_gather_, gather_later(context, build));
    GARUDA_TRY_ASSIGN(probe_gather_, gather_later(context, probe));
  }
  auto const bits = join_radix_bits(build.rows, context.tuning());
  auto const columns = std::max<std::size_t>(build.payload.size(), 1) + std::max<std::size_t>(probe.payload.size(), 1);
  GARUDA_TRY_ASSIGN(join_, RowsJoin::create(context, bits, build.rows, probe.rows, columns));
  GARUDA_TRY_ASSIGN(build_, PartitionedSide::create(context, std::move(build), bits));
  GARUDA_TRY_ASSIGN(probe_, PartitionedSide::create(context, std::move(probe), bits));
  return {};
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
  GARUDA_TRY_ASSIGN(keys_out_, column_buffer(context, capacity * key_words_ * 4, "joined keys"));
  for (auto const words : build_words_) {
    GARUDA_TRY_ASSIGN(auto column, column_buffer(context, capacity * words * 4, "joined column"));
    build_out_.push_back(std::move(column));
  }
  for (auto const words : probe_words_) {
    GARUDA_TRY_ASSIGN(auto column, column_buffer(context, capacity * words * 4, "joined column"));
    probe_out_.push_back(std::move(column));
  }
  for (auto* const gather : {&build_gather_, &probe_gather_})
    if (*gather) GARUDA_TRY((*gather)->take_rows(context, capacity));
  return {};
}

JoinedRows ResidentJoin::targets() const {
  JoinedRows rows;
  rows.capacity = capacity_;
  rows.keys = keys_out_.address();
  rows.build = build_gather_ ? std::vector{build_gather_->rows()} : addresses_of(build_out_);
  rows.probe = probe_gather_ ? std::vector{probe_gather_->rows()} : addresses_of(probe_out_);
  return rows;
}

Result<void> ResidentJoin::record_gathers(ComputeContext& context) {
  if (build_gather_) GARUDA_TRY(build_gather_->record(context, join_->state(), addresses_of(build_out_), capacity_));
  if (probe_gather_) GARUDA_TRY(probe_gather_->record(context, join_->state(), addresses_of(probe_out_), capacity_));
  return {};
}

Result<void> ResidentJoin::record(ComputeContext& context) {
  if (indexed_) return indexed_->record(context, targets());
  if (!build_) return {};
  std::array<PartitionedSide*, 2> const sides{&*build_, &*probe_};
  GARUDA_TRY(PartitionedSide::record_side_by_side(context, sides));
  GARUDA_TRY(join_->record(context, *build_, *probe_, targets()));
  return record_gathers(context);
}

Result<std::uint64_t> ResidentJoin::finish_partitioned(ComputeContext& context) {
  while (true) {
    GARUDA_TRY_ASSIGN(auto const outcome, join_->finish(context));
    if (outcome.fits) {
      if (outcome.again) GARUDA_TRY(record_gathers(context));
      if (build_gather_ || probe_gather_) GARUDA_TRY(context.submissions().finish());
      return outcome.rows;
    }
    GARUDA_TRY(check_rows(outcome.rows));
    GARUDA_TRY(take_columns(context, outcome.rows));
    GARUDA_TRY(join_->record(context, *build_, *probe_, targets()));
    GARUDA_TRY(record_gathers(context));
  }
}

Result<std::uint64_t> ResidentJoin::finish_indexed(ComputeContext& context) {
  GARUDA_TRY_ASSIGN(auto const rows, indexed_->finish(context));
  if (rows <= capacity_) return rows;
  GARUDA_TRY(check_rows(rows));
  GARUDA_TRY(take_columns(context, rows));
  GARUDA_TRY(indexed_->record_rows(context, targets()));
  GARUDA_TRY(context.submissions().finish());
  return rows;
}

Result<ResidentResult> ResidentJoin::finish(ComputeContext& context) {
  ResidentResult result;
  if (indexed_) {
    GARUDA_TRY_ASSIGN(result.rows, finish_indexed(context));
  } else if (build_) {
    GARUDA_TRY_ASSIGN(result.rows, finish_partitioned(context));
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

}  // namespace garuda::compute
