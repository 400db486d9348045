#include "operators/compute/group_by/device_values.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "shaders/compute/column_values_layout.h"

namespace garuda::compute {
namespace {

constexpr char const* kRangesPhase = "ranges";
// Workgroups that keep every multiprocessor of a large GPU busy, and rows that are worth one.
constexpr std::uint64_t kMostGroups = 1024;
constexpr std::uint64_t kLeastGroupRows = 4096;

static_assert(static_cast<std::uint32_t>(DeviceValueKind::uint64) == shaders::kColumnU64);
static_assert(static_cast<std::uint32_t>(DeviceValueKind::int128) == shaders::kColumnI128);
static_assert(static_cast<std::uint32_t>(DeviceValueKind::float64) == shaders::kColumnF64);
static_assert(static_cast<std::uint32_t>(DeviceValueKind::bits) == shaders::kColumnBits);
static_assert(static_cast<std::uint32_t>(DeviceValueKind::float16) == shaders::kColumnF16);

PassShape range_shape(DeviceValueKind kind, bool has_nulls) {
  return {"compute/column_range.comp",
          0,
          1,
          sizeof(shaders::ColumnRangePush),
          {{shaders::kSpecColumnKind, static_cast<std::uint32_t>(kind)},
           {shaders::kSpecNullableColumn, has_nulls ? 1U : 0U}}};
}

std::uint64_t joined(std::uint32_t low, std::uint32_t high) { return low | std::uint64_t{high} << 32; }

ValueRange reduce(std::span<shaders::ColumnRange const> parts) {
  ValueRange range;
  for (auto const& part : parts) {
    if (part.values == 0) continue;
    auto const min = joined(part.min_low, part.min_high);
    auto const max = joined(part.max_low, part.max_high);
    range.min = range.has_values ? std::min(range.min, min) : min;
    range.max = range.has_values ? std::max(range.max, max) : max;
    range.has_values = true;
    range.flags |= part.flags;
    if (part.numbers == 0) continue;
    bool const is_first = !range.has_numbers;
    range.has_numbers = true;
    range.lowest_bit = is_first ? part.lowest_bit : std::min(range.lowest_bit, part.lowest_bit);
    range.highest_bit = std::max(range.highest_bit, part.highest_bit);
    range.first_position = is_first ? part.first_position : std::min(range.first_position, part.first_position);
    range.last_position = std::max(range.last_position, part.last_position);
  }
  return range;
}

}  // namespace

Result<ColumnScan> ColumnScan::create(ComputeContext& context, std::vector<DeviceValues> columns, std::uint64_t rows) {
  GARUDA_EXPECTS(rows > 0 && rows <= std::uint64_t{1} << 31);
  ColumnScan scan;
  scan.columns_ = std::move(columns);
  scan.rows_ = rows;
  scan.groups_ = std::clamp<std::uint64_t>(rows / kLeastGroupRows, 1, kMostGroups);
  auto const parts = scan.groups_ * (context.tuning().group_size / context.tuning().subgroup_size);
  for (auto const& column : scan.columns_) {
    GARUDA_EXPECTS(has_order(column.kind));
    GARUDA_TRY_ASSIGN(auto buffer, context.device_buffer(parts * sizeof(shaders::ColumnRange), "ranges of columns"));
    scan.ranges_.push_back(std::move(buffer));
  }
  return scan;
}

Result<std::vector<ValueRange>> ColumnScan::run(ComputeContext& context) {
  auto const rows_each = groups_for(rows_, groups_);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    auto const& column = columns_[c];
    shaders::ColumnRangePush push{};
    push.values = column.column.address;
    push.nulls = column.nulls;
    push.ranges = ranges_[c].address();
    push.null_mask = column.null_mask;
    push.num_rows = static_cast<std::uint32_t>(rows_);
    push.rows_each = static_cast<std::uint32_t>(rows_each);
    GARUDA_TRY(context.dispatch(kRangesPhase, range_shape(column.kind, column.has_nulls()), push, groups_, rows_));
  }
  GARUDA_TRY(context.order_all(kRangesPhase));
  std::vector<ValueRange> ranges;
  auto const parts = groups_ * (context.tuning().group_size / context.tuning().subgroup_size);
  std::vector<shaders::ColumnRange> found(parts);
  for (auto const& buffer : ranges_) {
    GARUDA_TRY(context.download(buffer, std::as_writable_bytes(std::span(found))));
    ranges.push_back(reduce(found));
  }
  return ranges;
}

std::vector<vk::ComputePipelineSpec> ColumnScan::pipelines(ComputeTuning const& tuning) {
  std::vector<vk::ComputePipelineSpec> specs;
  for (auto const kind :
       {DeviceValueKind::int32, DeviceValueKind::uint32, DeviceValueKind::int64, DeviceValueKind::uint64,
        DeviceValueKind::float32, DeviceValueKind::float64, DeviceValueKind::float16})
    for (bool const has_nulls : {false, true}) specs.push_back(compute_pipeline(range_shape(kind, has_nulls), tuning));
  return specs;
}

}  // namespace garuda::compute
