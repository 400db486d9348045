#include "operators/compute/join/resident_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "operators/compute/condition_join/condition_program.hpp"
#include "operators/compute/join/key_bitmap.hpp"
#include "operators/compute/primitives/key_columns.hpp"
#include "operators/compute/primitives/late_gather.hpp"

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

ResidentJoin::ResidentJoin(ResidentJoinStrategy const& way, std::uint64_t left_rows, std::uint64_t right_rows,
                           std::uint32_t key_words)
    : build_side_(way.build.value_or(left_rows <= right_rows ? Side::left : Side::right)),
      parts_(way.parts),
      marked_(way.marks),
      key_words_(key_words) {}

Result<ResidentJoin> ResidentJoin::create(ComputeContext& context, DeviceRows left, DeviceRows right,
                                          std::uint64_t expected_rows, ResidentJoinStrategy const& way,
                                          vk::MemoryArena* results) {
  GARUDA_EXPECTS(left.keys.words == right.keys.words && !left.number_rows && !right.number_rows);
  GARUDA_EXPECTS(way.method != JoinMethod::automatic && way.method != JoinMethod::bitmap);
  bool const has_payload = !left.payload.empty() || !right.payload.empty();
  GARUDA_EXPECTS(way.parts != JoinedParts::numbers || !has_payload);
  ResidentJoin join(way, left.rows, right.rows, left.keys.words);
  join.results_ = results;
  bool const has_pairs = left.rows > 0 && right.rows > 0;
  std::array rows{std::move(left), std::move(right)};
  for (auto const side : kSides) {
    auto& given = rows[side_index(side)];
    auto& own = join.of(side);
    own.given = given;
    given.number_rows = way.parts == JoinedParts::numbers;
    own.words = words_of(given);
    if (way.marks.of(side)) {
      GARUDA_TRY_ASSIGN(own.marks, context.device_buffer((given.rows + 31) / 32 * 4, "marks"));
    }
  }
  if (has_pairs && way.method == JoinMethod::partitioned) {
    GARUDA_TRY(join.start_partitioned(context, std::move(rows), way.gathers));
  } else if (has_pairs) {
    auto const build = side_index(join.build_side_);
    GARUDA_TRY_ASSIGN(join.indexed_, IndexedJoin::create(context, std::move(rows[build]), std::move(rows[1 - build])));
  }
  GARUDA_TRY(join.take_room(context, expected_rows));
  return join;
}

Result<ResidentJoin> ResidentJoin::create(ComputeContext& context, PartitionedSide left, PartitionedSide right,
                                          std::uint64_t expected_rows, ResidentJoinStrategy const& way) {
  GARUDA_EXPECTS(way.method == JoinMethod::partitioned && !way.gathers && !way.marks.any());
  GARUDA_EXPECTS(way.parts == JoinedParts::numbers || way.parts == JoinedParts::none);
  GARUDA_EXPECTS(left.bits() == right.bits() && left.key_words() == right.key_words());
  ResidentJoin join(way, left.rows(), right.rows(), left.key_words());
  join.of(Side::left).partitioned = std::move(left);
  join.of(Side::right).partitioned = std::move(right);
  for (auto& side : join.sides_) side.words = {1};
  auto const& build = *join.build().partitioned;
  GARUDA_TRY_ASSIGN(join.join_,
                    RowsJoin::create(context, build.bits(), build.rows(), join.probe().partitioned->rows(), 2));
  GARUDA_TRY(join.take_room(context, expected_rows));
  return join;
}

Result<void> ResidentJoin::start_partitioned(ComputeContext& context, std::array<DeviceRows, 2> rows, bool gathers) {
  std::size_t columns = 0;
  for (auto const side : kSides) {
    auto& moved = rows[side_index(side)];
    if (gathers) {
      GARUDA_TRY_ASSIGN(of(side).gather, gather_later(context, moved));
    }
    columns += std::max<std::size_t>(moved.payload.size(), 1);
  }
  auto const build = side_index(build_side_);
  auto const bits = join_radix_bits(rows[build].rows, context.tuning());
  GARUDA_TRY_ASSIGN(join_, RowsJoin::create(context, bits, rows[build].rows, rows[1 - build].rows, columns));
  for (auto const side : {build, 1 - build}) {
    GARUDA_TRY_ASSIGN(sides_[side].partitioned, PartitionedSide::create(context, std::move(rows[side]), bits));
  }
  return {};
}

Result<vk::Buffer> ResidentJoin::column_buffer(ComputeContext& context, std::uint64_t bytes, char const* name) {
  if (results_ == nullptr) return context.device_buffer(bytes, name);
  vk::BufferSpec spec;
  spec.bytes = bytes;
  spec.name = name;
  return results_->buffer(spec);
}

/// Takes columns for the estimated rows.
Result<void> ResidentJoin::take_room(ComputeContext& context, std::uint64_t expected_rows) {
  expected_ = parts_ == JoinedParts::numbers ? 0 : expected_rows;
  return take_columns(context, std::clamp<std::uint64_t>(expected_rows, 1, writes() ? kMostJoinedRows : 1));
}

Result<void> ResidentJoin::take_columns(ComputeContext& context, std::uint64_t capacity) {
  result_ = {};
  result_.capacity = capacity;
  // Columns that were too small: the device is done with them, and nothing else is in their arena.
  if (results_ != nullptr) results_->reset();
  if (!writes()) return {};
  if (parts_ == JoinedParts::columns) {
    GARUDA_TRY_ASSIGN(result_.keys, column_buffer(context, capacity * key_words_ * 4, "joined keys"));
  }
  for (auto const side : kSides) {
    auto& own = of(side);
    for (auto const words : own.words) {
      GARUDA_TRY_ASSIGN(auto column, column_buffer(context, capacity * words * 4, "joined column"));
      result_.of(side).push_back(std::move(column));
    }
    if (own.gather) GARUDA_TRY(own.gather->take_rows(context, capacity));
  }
  return {};
}

JoinedRows ResidentJoin::targets() {
  JoinedRows rows;
  rows.capacity = result_.capacity;
  rows.expected = parts_ == JoinedParts::columns ? result_.capacity : expected_;
  rows.marks_only = parts_ == JoinedParts::marks;
  auto const columns = [&](Side side) {
    if (!writes()) return std::vector<VkDeviceAddress>();
    auto const& gather = of(side).gather;
    return gather ? std::vector{gather->rows()} : addresses_of(result_.of(side));
  };
  rows.build_marks = build().marks.address();
  rows.probe_marks = probe().marks.address();
  rows.keys = result_.keys.address();
  rows.build = columns(build_side_);
  rows.probe = columns(other_side(build_side_));
  return rows;
}

Result<void> ResidentJoin::record_gathers(ComputeContext& context) {
  if (!writes()) return {};
  for (auto const side : kSides)
    if (auto& gather = of(side).gather)
      GARUDA_TRY(gather->record(context, join_->state(), addresses_of(result_.of(side)), result_.capacity));
  return {};
}

Result<void> ResidentJoin::record(ComputeContext& context) {
  for (auto const side : kSides)
    if (marked_.of(side)) GARUDA_TRY(context.fill(vulkan::phase::kMark, of(side).marks, 0));
  if (indexed_) {
    GARUDA_TRY(indexed_->record_matches(context));
    // Rows of partitions are marked as they are joined.
    for (auto const side : kSides)
      if (marked_.of(side)) GARUDA_TRY(indexed_->record_marks(context, side == build_side_, of(side).marks));
  } else if (join_) {
    std::array<PartitionedSide*, 2> const sides{&*build().partitioned, &*probe().partitioned};
    GARUDA_TRY(PartitionedSide::record_side_by_side(context, sides));
  }
  return record_rows(context);
}

Result<MarkedRows> ResidentJoin::marked_rows(ComputeContext& context, Side side) {
  GARUDA_EXPECTS(marked_.of(side));
  auto const& own = of(side);
  MarkedRows rows{own.given.rows, own.given.keys, own.given.payload, 0, own.marks.address()};
  if (!own.partitioned) return rows;
  // As its partitions left it.
  GARUDA_TRY(count(context));
  rows.keys.address = own.partitioned->keys().address();
  if (own.gather) {
    rows.numbers = own.partitioned->payload(0).address();
  } else {
    for (std::size_t i = 0; i < rows.payload.size(); ++i)
      rows.payload[i].address = own.partitioned->payload(i).address();
  }
  return rows;
}

Result<void> ResidentJoin::record_rows(ComputeContext& context) {
  rows_.reset();
  if (indexed_) return writes() ? indexed_->record_rows(context, targets()) : Result<void>();
  if (!join_) return {};
  GARUDA_TRY(join_->record(context, *build().partitioned, *probe().partitioned, targets()));
  return record_gathers(context);
}

Result<std::uint64_t> ResidentJoin::count(ComputeContext& context) {
  if (rows_) return *rows_;
  if (indexed_) {
    GARUDA_TRY_ASSIGN(rows_, indexed_->finish(context));
  } else if (join_) {
    GARUDA_TRY_ASSIGN(auto const outcome, join_->finish(context));
    rows_ = outcome.rows;
    if (outcome.fits && outcome.again) GARUDA_TRY(record_gathers(context));
    if (outcome.fits && (build().gather || probe().gather)) GARUDA_TRY(context.submissions().finish());
  } else {
    rows_ = 0;
  }
  return *rows_;
}

Result<void> ResidentJoin::finish(ComputeContext& context, std::uint64_t rows_behind) {
  GARUDA_EXPECTS(writes());
  GARUDA_TRY_ASSIGN(auto const rows, count(context));
  auto const needed = rows + rows_behind;
  if (needed > result_.capacity) {
    GARUDA_TRY(check_rows(needed));
    GARUDA_TRY(take_columns(context, needed));
    GARUDA_TRY(record_rows(context));
    GARUDA_TRY(count(context));
  }
  result_.rows = rows;
  return {};
}

std::vector<vk::ComputePipelineSpec> join_compute_pipelines(ComputeTuning const& tuning) {
  auto specs = rows_join_pipelines(tuning);
  for (auto const& shape : {late_gather_shape(), non_null_shape()}) specs.push_back(compute_pipeline(shape, tuning));
  for (auto const& more : {indexed_join_pipelines(tuning), unmatched_rows_pipelines(tuning),
                           key_bitmap_pipelines(tuning), pair_filter_pipelines(tuning), radix_pipelines(tuning)})
    specs.insert(specs.end(), more.begin(), more.end());
  return specs;
}

}  // namespace garuda::compute
