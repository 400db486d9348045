#include "operators/compute/join/resident_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "operators/compute/condition_join/condition_program.hpp"
#include "operators/compute/join/key_bitmap.hpp"
#include "operators/compute/primitives/key_columns.hpp"
#include "operators/compute/primitives/non_null_rows.hpp"

namespace garuda::compute {
namespace {

std::vector<std::uint32_t> words_of(DeviceRows const& rows) {
  std::vector<std::uint32_t> words(rows.number_rows ? 1 : 0, 1);
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
                                          std::uint64_t expected_rows, ResidentJoinStrategy const& way,
                                          vk::MemoryArena* results) {
  GARUDA_EXPECTS(left.keys.words == right.keys.words && !left.number_rows && !right.number_rows);
  GARUDA_EXPECTS(way.method != JoinMethod::automatic && way.method != JoinMethod::bitmap);
  bool const has_payload = !left.payload.empty() || !right.payload.empty();
  GARUDA_EXPECTS(way.parts != JoinedParts::numbers || !has_payload);
  ResidentJoin join;
  join.results_ = results;
  join.parts_ = way.parts;
  join.marked_ = way.marks;
  join.left_ = left;
  join.right_ = right;
  for (auto const side : {Side::left, Side::right})
    if (way.marks.of(side)) GARUDA_TRY(join.take_marks(context, side));
  left.number_rows = right.number_rows = way.parts == JoinedParts::numbers;
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
      GARUDA_TRY_ASSIGN(join.indexed_, IndexedJoin::create(context, std::move(build), std::move(probe)));
    }
  }
  join.expected_ = way.parts == JoinedParts::numbers ? 0 : expected_rows;
  auto const most = join.writes() ? kMostJoinedRows : 1;
  GARUDA_TRY(join.take_columns(context, std::clamp<std::uint64_t>(expected_rows, 1, most)));
  return join;
}

Result<ResidentJoin> ResidentJoin::create(ComputeContext& context, PartitionedSide left, PartitionedSide right,
                                          std::uint64_t expected_rows, ResidentJoinStrategy const& way) {
  GARUDA_EXPECTS(way.method == JoinMethod::partitioned && !way.gathers && !way.marks.any());
  GARUDA_EXPECTS(way.parts == JoinedParts::numbers || way.parts == JoinedParts::none);
  GARUDA_EXPECTS(left.bits() == right.bits() && left.key_words() == right.key_words());
  ResidentJoin join;
  join.parts_ = way.parts;
  join.key_words_ = left.key_words();
  join.build_words_ = join.probe_words_ = {1};
  join.build_is_left_ = way.build ? *way.build == Side::left : left.rows() <= right.rows();
  auto& build = join.build_.emplace(std::move(join.build_is_left_ ? left : right));
  auto& probe = join.probe_.emplace(std::move(join.build_is_left_ ? right : left));
  GARUDA_TRY_ASSIGN(join.join_, RowsJoin::create(context, build.bits(), build.rows(), probe.rows(), 2));
  join.expected_ = way.parts == JoinedParts::numbers ? 0 : expected_rows;
  auto const most = join.writes() ? kMostJoinedRows : 1;
  GARUDA_TRY(join.take_columns(context, std::clamp<std::uint64_t>(expected_rows, 1, most)));
  return join;
}

Result<void> ResidentJoin::take_marks(ComputeContext& context, Side side) {
  auto const rows = (side == Side::left ? left_ : right_).rows;
  auto& marks = side == Side::left ? left_marks_ : right_marks_;
  GARUDA_TRY_ASSIGN(marks, context.device_buffer((rows + 31) / 32 * 4, "marks"));
  return {};
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
  if (!writes()) return {};
  if (parts_ == JoinedParts::columns) {
    GARUDA_TRY_ASSIGN(keys_out_, column_buffer(context, capacity * key_words_ * 4, "joined keys"));
  }
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
  rows.expected = parts_ == JoinedParts::columns ? capacity_ : expected_;
  rows.marks_only = parts_ == JoinedParts::marks;
  for (auto const side : {Side::left, Side::right})
    if (marked_.of(side))
      (is_build(side) ? rows.build_marks : rows.probe_marks) =
          (side == Side::left ? left_marks_ : right_marks_).address();
  if (!writes()) return rows;
  rows.keys = parts_ == JoinedParts::columns ? keys_out_.address() : 0;
  rows.build = build_gather_ ? std::vector{build_gather_->rows()} : addresses_of(build_out_);
  rows.probe = probe_gather_ ? std::vector{probe_gather_->rows()} : addresses_of(probe_out_);
  return rows;
}

Result<void> ResidentJoin::record_gathers(ComputeContext& context) {
  if (!writes()) return {};
  if (build_gather_) GARUDA_TRY(build_gather_->record(context, join_->state(), addresses_of(build_out_), capacity_));
  if (probe_gather_) GARUDA_TRY(probe_gather_->record(context, join_->state(), addresses_of(probe_out_), capacity_));
  return {};
}

Result<void> ResidentJoin::record(ComputeContext& context) {
  if (marked_.left) GARUDA_TRY(context.fill(vulkan::phase::kMark, left_marks_, 0));
  if (marked_.right) GARUDA_TRY(context.fill(vulkan::phase::kMark, right_marks_, 0));
  if (indexed_) {
    GARUDA_TRY(indexed_->record_matches(context));
    GARUDA_TRY(record_marks(context));
  } else if (build_) {
    std::array<PartitionedSide*, 2> const sides{&*build_, &*probe_};
    GARUDA_TRY(PartitionedSide::record_side_by_side(context, sides));
  }
  return record_rows(context);
}

/// Marks rows by the index; rows of partitions are marked as they are joined.
Result<void> ResidentJoin::record_marks(ComputeContext& context) {
  for (auto const side : {Side::left, Side::right})
    if (marked_.of(side))
      GARUDA_TRY(indexed_->record_marks(context, is_build(side), side == Side::left ? left_marks_ : right_marks_));
  return {};
}

Result<MarkedRows> ResidentJoin::marked_rows(ComputeContext& context, Side side) {
  GARUDA_EXPECTS(marked_.of(side));
  auto const& given = side == Side::left ? left_ : right_;
  MarkedRows rows{given.rows, given.keys, given.payload, 0,
                  (side == Side::left ? left_marks_ : right_marks_).address()};
  if (!build_) return rows;
  // As its partitions left it.
  GARUDA_TRY(count(context));
  auto const& moved = is_build(side) ? *build_ : *probe_;
  rows.keys.address = moved.keys().address();
  if (is_build(side) ? build_gather_.has_value() : probe_gather_.has_value()) {
    rows.numbers = moved.payload(0).address();
  } else {
    for (std::size_t i = 0; i < rows.payload.size(); ++i) rows.payload[i].address = moved.payload(i).address();
  }
  return rows;
}

Result<void> ResidentJoin::record_rows(ComputeContext& context) {
  rows_.reset();
  if (indexed_) return writes() ? indexed_->record_rows(context, targets()) : Result<void>();
  if (!build_) return {};
  GARUDA_TRY(join_->record(context, *build_, *probe_, targets()));
  return record_gathers(context);
}

Result<std::uint64_t> ResidentJoin::count(ComputeContext& context) {
  if (rows_) return *rows_;
  if (indexed_) {
    GARUDA_TRY_ASSIGN(rows_, indexed_->finish(context));
  } else if (build_) {
    GARUDA_TRY_ASSIGN(auto const outcome, join_->finish(context));
    rows_ = outcome.rows;
    if (outcome.fits && outcome.again) GARUDA_TRY(record_gathers(context));
    if (outcome.fits && (build_gather_ || probe_gather_)) GARUDA_TRY(context.submissions().finish());
  } else {
    rows_ = 0;
  }
  return *rows_;
}

Result<ResidentResult> ResidentJoin::finish(ComputeContext& context, std::uint64_t rows_behind) {
  GARUDA_EXPECTS(writes());
  ResidentResult result;
  GARUDA_TRY_ASSIGN(result.rows, count(context));
  auto const needed = result.rows + rows_behind;
  if (needed > capacity_) {
    GARUDA_TRY(check_rows(needed));
    GARUDA_TRY(take_columns(context, needed));
    GARUDA_TRY(record_rows(context));
    GARUDA_TRY(count(context));
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

std::vector<vk::ComputePipelineSpec> join_compute_pipelines(ComputeTuning const& tuning) {
  auto specs = rows_join_pipelines(tuning);
  for (auto const& shape : {late_gather_shape(), non_null_shape()}) specs.push_back(compute_pipeline(shape, tuning));
  for (auto const& more : {indexed_join_pipelines(tuning), unmatched_rows_pipelines(tuning),
                           key_bitmap_pipelines(tuning), key_width_pipelines(tuning), pair_filter_pipelines(tuning),
                           scan_pipelines(tuning), radix_pipelines(tuning), chunk_pipelines(tuning)})
    specs.insert(specs.end(), more.begin(), more.end());
  return specs;
}

}  // namespace garuda::compute
