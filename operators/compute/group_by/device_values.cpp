#include "operators/compute/group_by/device_values.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "shaders/compute/keys/column_values_layout.h"

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
  return {"compute/keys/column_range.comp",
          0,
          1,
          sizeof(shaders::ColumnRangePush),
          {{shaders::kSpecColumnKind, static_cast<std::uint32_t>(kind)},
           {shaders::kSpecNullableColumn, has_nulls ? 1U : 0U}}};
}

PassShape wide_range_shape() { return {"compute/keys/wide_range.comp", 0, 1, sizeof(shaders::WideRangePush), {}}; }

/// Workgroups for so many rows.
std::uint64_t scan_groups(std::uint64_t rows) {
  return std::clamp<std::uint64_t>(rows / kLeastGroupRows, 1, kMostGroups);
}

/// Parts of a range that they write.
std::uint64_t scan_parts(ComputeContext const& context, std::uint64_t groups) {
  return groups * (context.tuning().group_size / context.tuning().subgroup_size);
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

WideRange::Number number_of(shaders::uint const (&words)[shaders::kNumberWords]) {
  WideRange::Number number{};
  static_assert(sizeof(words) == sizeof(number));
  std::memcpy(number.data(), words, sizeof(number));
  return number;
}

bool is_less(WideRange::Number const& a, WideRange::Number const& b) {
  auto const top = [](WideRange::Number const& number) { return static_cast<std::int64_t>(number.back()); };
  if (top(a) != top(b)) return top(a) < top(b);
  return std::lexicographical_compare(a.rbegin(), a.rend(), b.rbegin(), b.rend());
}

}  // namespace

Result<ColumnScan> ColumnScan::create(ComputeContext& context, std::vector<DeviceValues> columns, std::uint64_t rows) {
  GARUDA_EXPECTS(rows > 0 && rows <= std::uint64_t{1} << 31);
  ColumnScan scan;
  scan.columns_ = std::move(columns);
  scan.rows_ = rows;
  scan.groups_ = scan_groups(rows);
  auto const parts = scan_parts(context, scan.groups_);
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
  std::vector<shaders::ColumnRange> found(scan_parts(context, groups_));
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
  specs.push_back(compute_pipeline(wide_range_shape(), tuning));
  return specs;
}

Result<WideRange> find_wide_range(ComputeContext& context, DeviceValues const& values, std::uint64_t rows) {
  auto const groups = scan_groups(rows);
  std::vector<shaders::WideRange> found(scan_parts(context, groups));
  GARUDA_TRY_ASSIGN(auto const ranges,
                    context.device_buffer(found.size() * sizeof(shaders::WideRange), "ranges of wide values"));
  shaders::WideRangePush push{};
  push.values = values.column.address;
  push.nulls = values.nulls;
  push.ranges = ranges.address();
  push.null_mask = values.null_mask;
  push.num_words = values.column.words;
  push.num_rows = static_cast<std::uint32_t>(rows);
  push.rows_each = static_cast<std::uint32_t>(groups_for(rows, groups));
  GARUDA_TRY(context.dispatch(kRangesPhase, wide_range_shape(), push, groups, rows));
  GARUDA_TRY(context.order_all(kRangesPhase));
  GARUDA_TRY(context.download(ranges, std::as_writable_bytes(std::span(found))));
  WideRange range;
  for (auto const& part : found) {
    if (part.values == 0) continue;
    auto const min = number_of(part.least);
    auto const max = number_of(part.greatest);
    if (!range.has_values || is_less(min, range.min)) range.min = min;
    if (!range.has_values || is_less(range.max, max)) range.max = max;
    range.has_values = true;
  }
  return range;
}

}  // namespace garuda::compute
