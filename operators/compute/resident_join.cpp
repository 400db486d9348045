#include "operators/compute/resident_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace garuda::operators {
namespace {

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
  join.build_is_left_ = left.rows <= right.rows;
  auto& build = join.build_is_left_ ? left : right;
  auto& probe = join.build_is_left_ ? right : left;
  join.build_words_ = words_of(build);
  join.probe_words_ = words_of(probe);
  if (build.rows > 0) {
    auto const bits = join_radix_bits(build.rows, context.tuning());
    GARUDA_TRY_ASSIGN(join.join_, RowsJoin::create(context, bits, build.rows, probe.rows,
                                                   build.payload.size() + probe.payload.size()));
    GARUDA_TRY_ASSIGN(join.build_, PartitionedSide::create(context, std::move(build), bits));
    GARUDA_TRY_ASSIGN(join.probe_, PartitionedSide::create(context, std::move(probe), bits));
  }
  GARUDA_TRY(join.take_columns(context, std::clamp<std::uint64_t>(expected_rows, 1, kMostJoinedRows)));
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

JoinedRows ResidentJoin::targets() const {
  JoinedRows rows;
  rows.capacity = capacity_;
  rows.keys = keys_out_.address();
  for (auto const& column : build_out_) rows.build.push_back(column.address());
  for (auto const& column : probe_out_) rows.probe.push_back(column.address());
  return rows;
}

Result<void> ResidentJoin::record(ComputeContext& context) {
  if (!build_) return {};
  GARUDA_TRY(build_->record(context));
  GARUDA_TRY(probe_->record(context));
  return join_->record(context, *build_, *probe_, targets());
}

Result<ResidentResult> ResidentJoin::finish(ComputeContext& context) {
  ResidentResult result;
  while (build_) {
    GARUDA_TRY_ASSIGN(auto const outcome, join_->finish(context));
    result.rows = outcome.rows;
    if (outcome.fits) break;
    if (outcome.rows > kMostJoinedRows) {
      return fail(ErrorCode::limit_exceeded,
                  fmt::format("the result has more rows than a table on the device, 2^32 - 2: {}", outcome.rows));
    }
    GARUDA_TRY(take_columns(context, outcome.rows));
    GARUDA_TRY(join_->record(context, *build_, *probe_, targets()));
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
