#include "operators/cpu/group_by/floats/float_range.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "core/load.hpp"
#include "core/look_ahead.hpp"
#include "operators/cpu/group_by/column_values.hpp"

namespace garuda::cpu {

template <class Float>
void FloatRange::add_values(contract::AggregateInput const& input, std::uint64_t first_row, std::uint64_t count) {
  constexpr std::size_t kAtOnce = 256;
  mantissa_bits_ = kMantissaBits<Float>;
  exponent_limit_ = sizeof(Float) == 4 ? 0xFF : 0x7FF;
  auto* const see = sizeof(Float) == 4 ? float_kernels().magnitudes_32 : float_kernels().magnitudes_64;
  Magnitudes seen;
  auto const* const values = reinterpret_cast<std::byte const*>(input.values.data()) + first_row * sizeof(Float);
  if (input.validity.empty()) {
    for_ranges_ahead(values, sizeof(Float), count, [&](std::size_t begin, std::size_t end) {
      see(values + begin * sizeof(Float), end - begin, &seen);
    });
  } else {
    Float valid[kAtOnce];
    std::size_t kept = 0;
    for (std::uint64_t row = 0; row < count; ++row) {
      valid[kept] = load<Float>(values, static_cast<std::int64_t>(row));
      kept += is_valid(input, first_row + row) ? 1 : 0;
      if (kept < kAtOnce) continue;
      see(valid, std::exchange(kept, 0), &seen);
    }
    see(valid, kept, &seen);
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

}  // namespace garuda::cpu
