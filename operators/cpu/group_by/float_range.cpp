#include "operators/cpu/group_by/float_range.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <span>
#include <utility>

#include "core/load.hpp"
#include "core/look_ahead.hpp"
#include "operators/cpu/group_by/column_values.hpp"
#include "operators/cpu/group_by/table_rows.hpp"

namespace garuda::cpu {

template <class Float>
void FloatRange::add_values(contract::AggregateInput const& input, std::uint64_t first_row, std::uint64_t count) {
  constexpr std::size_t kAtOnce = 256;
  mantissa_bits_ = kMantissaBits<Float>;
  exponent_limit_ = sizeof(Float) == 4 ? 0xFF : 0x7FF;
  auto const& kernels = float_kernels();
  auto* const magnitudes = sizeof(Float) == 4 ? kernels.magnitudes_32 : kernels.magnitudes_64;
  auto* const to_integers = sizeof(Float) == 4 ? kernels.integers_32 : kernels.integers_64;
  Magnitudes seen;
  std::int64_t integers[kAtOnce];
  auto const see = [&](void const* floats, std::size_t some) {
    magnitudes(floats, some, &seen);
    are_integers_ = are_integers_ && to_integers(floats, some, integers);
  };
  auto const* const values = reinterpret_cast<std::byte const*>(input.values.data()) + first_row * sizeof(Float);
  if (input.validity.empty()) {
    for_ranges_ahead(values, sizeof(Float), count,
                     [&](std::size_t begin, std::size_t end) { see(values + begin * sizeof(Float), end - begin); });
  } else {
    Float valid[kAtOnce];
    std::size_t kept = 0;
    for (std::uint64_t row = 0; row < count; ++row) {
      valid[kept] = load<Float>(values, static_cast<std::int64_t>(row));
      kept += is_valid(input, first_row + row) ? 1 : 0;
      if (kept < kAtOnce) continue;
      see(valid, std::exchange(kept, 0));
    }
    see(valid, kept);
  }
  if (seen.largest == 0) return;
  least_ = std::min(least_, static_cast<std::uint32_t>((seen.least_less_one + 1) >> kMantissaBits<Float>));
  largest_ = std::max(largest_, static_cast<std::uint32_t>(seen.largest >> kMantissaBits<Float>));
}

void FloatRange::add(contract::AggregateInput const& input, std::uint64_t first, std::uint64_t count) {
  if (input.kind == contract::ValueKind::float32)
    add_values<float>(input, first, count);
  else
    add_values<double>(input, first, count);
}

void FloatRange::add(FloatRange const& other) noexcept {
  least_ = std::min(least_, other.least_);
  largest_ = std::max(largest_, other.largest_);
  exponent_limit_ = std::max(exponent_limit_, other.exponent_limit_);
  mantissa_bits_ = std::max(mantissa_bits_, other.mantissa_bits_);
  are_integers_ = are_integers_ && other.are_integers_;
}

FixedPoint FloatRange::extent() const noexcept {
  auto const lowest = std::max(least_, 1U) - 1;
  return {lowest, std::max(largest_, 1U) - 1 - lowest};
}

/// The shift by which the sum of `num_rows` mantissas has 127 bits.
std::uint32_t FloatRange::most_shift(std::uint64_t num_rows) const noexcept {
  return 126 - mantissa_bits_ - static_cast<std::uint32_t>(std::bit_width(num_rows));
}

bool FloatRange::fits(FixedPoint point) const noexcept {
  if (point.is_integral) return are_integers_;
  if (least_ > largest_) return true;  // zeros alone, or nothing
  auto const here = extent();
  return largest_ != exponent_limit_ && here.position >= point.position &&
         here.position - point.position + here.most_shift <= point.most_shift;
}

std::optional<FixedPoint> FloatRange::fixed_point(std::uint64_t num_rows) const noexcept {
  if (least_ > largest_) return FixedPoint{};
  auto const here = extent();
  if (largest_ == exponent_limit_ || here.most_shift > most_shift(num_rows)) return std::nullopt;
  return here;
}

std::optional<FixedPoint> FloatRange::guess(std::uint64_t num_rows) const noexcept {
  constexpr std::uint32_t kGuessedShift = 48;  // such that double precision is split by FloatSplit
  constexpr std::uint64_t kMostIntegers = std::uint64_t{1} << 63;
  if (are_integers_ && least_ <= largest_ && num_rows < kMostIntegers) {
    bool const is_narrow = mantissa_bits_ == kMantissaBits<float>;
    auto point = point_of_integers(is_narrow ? contract::ValueKind::float32 : contract::ValueKind::float64);
    point.is_guess = true;
    return point;
  }
  auto point = fixed_point(num_rows);
  if (!point || least_ > largest_) return std::nullopt;
  // No more than what is near each other.
  auto const most = std::max(point->most_shift, std::min(most_shift(num_rows), kGuessedShift));
  point->position -= std::min(point->position, (most - point->most_shift) / 2);
  point->most_shift = most;
  point->is_guess = true;
  return point;
}

std::optional<FloatSplit> float_split(FixedPoint point, std::uint32_t mantissa_bits, std::int32_t unit) {
  constexpr std::uint32_t kPartBits = 51;
  constexpr std::uint32_t kFewestLowBits = 13;
  constexpr std::int32_t kLeastExponent = -1'022;
  constexpr std::int32_t kMostExponent = 1'023;
  auto const bits = point.most_shift + mantissa_bits + 1;
  auto const low_bits = std::max(bits / 2, kFewestLowBits);
  auto const lower = static_cast<std::int32_t>(point.position) + unit;
  auto const upper = lower + static_cast<std::int32_t>(low_bits);
  if (point.position == 0 || bits > 2 * kPartBits || lower < kLeastExponent || upper + 52 >= kMostExponent)
    return std::nullopt;
  return FloatSplit{std::ldexp(1.5, upper + 52), std::ldexp(1.5, lower + 52), low_bits};
}

namespace {

/// Rows of a block, and blocks, that a guess is made from.
constexpr std::uint64_t kSampledRows = 512;
constexpr std::size_t kSampledBlocks = 64;

Result<FloatRange> range_of(contract::WholeTable const& table, std::size_t column, contract::TableBlock const& rows) {
  GARUDA_TRY_ASSIGN(auto const values, table.values->read(column, {rows.first, rows.count, nullptr}));
  FloatRange range;
  range.add(values.input, 0, rows.count);
  return range;
}

/// The range of the blocks from `first` on.
Result<FloatRange> range_of(contract::WholeTable const& table, std::size_t column, std::size_t first,
                            contract::WholeGroupByOptions const& options) {
  auto const blocks = std::span(table.blocks).subspan(first);
  auto const rows = blocks.empty() ? 0 : table.num_rows - blocks.front().first;
  contract::PhaseTimer const clock(options.stats, "range",
                                   4 * rows * contract::value_words(table.requests[column].kind), rows);
  FloatRange range;
  std::mutex mutex;
  GARUDA_TRY(for_each_range(blocks, options.control, [&](contract::TableBlock const& block) -> Result<void> {
    GARUDA_TRY_ASSIGN(auto const part, range_of(table, column, block));
    std::lock_guard const lock(mutex);
    range.add(part);
    return {};
  }));
  return range;
}

}  // namespace

Result<std::optional<std::vector<FixedPoint>>> find_fixed_points(contract::WholeTable const& table,
                                                                 contract::WholeGroupByOptions const& options) {
  std::vector<FixedPoint> points(table.requests.size());
  for (std::size_t c = 0; c < points.size(); ++c) {
    if (!sums_floats(table.requests[c])) continue;
    GARUDA_TRY_ASSIGN(auto const range, range_of(table, c, 0, options));
    auto const point = range.fixed_point(table.num_rows);
    if (!point) return std::nullopt;
    points[c] = *point;
  }
  return points;
}

Result<std::optional<std::vector<FixedPoint>>> guess_fixed_points(contract::WholeTable const& table) {
  std::vector<FixedPoint> points(table.requests.size());
  auto const step = table.blocks.size() / kSampledBlocks + 1;
  for (std::size_t c = 0; c < points.size(); ++c) {
    if (!sums_floats(table.requests[c])) continue;
    FloatRange range;
    for (std::size_t b = 0; b < table.blocks.size(); b += step) {
      auto const& block = table.blocks[b];
      GARUDA_TRY_ASSIGN(auto const part, range_of(table, c, {block.first, std::min(block.count, kSampledRows)}));
      range.add(part);
    }
    auto const point = range.guess(table.num_rows);
    if (!point) return std::nullopt;
    points[c] = *point;
  }
  return points;
}

Result<bool> rest_fits(contract::WholeTable const& table, std::vector<FixedPoint> const& points, std::size_t first,
                       contract::WholeGroupByOptions const& options) {
  if (first == table.blocks.size()) return true;
  for (std::size_t c = 0; c < points.size(); ++c) {
    if (!points[c].is_guess) continue;
    GARUDA_TRY_ASSIGN(auto const range, range_of(table, c, first, options));
    if (!range.fits(points[c])) return false;
  }
  return true;
}

}  // namespace garuda::cpu
