#include "operators/cpu/group_by/floats/float_totals.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "core/look_ahead.hpp"
#include "core/numbers/wide_integer.hpp"
#include "operators/cpu/group_by/column_values.hpp"

namespace garuda::cpu {
namespace {

template <class Float>
using BitsOf = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;

/// A finite float as an integer over the bit at `position`: split_float's parts, found without a branch.
template <class Float>
UInt128 fixed_point_value(Float value, std::uint32_t position) noexcept {
  using Bits = BitsOf<Float>;
  auto const bits = std::bit_cast<Bits>(value);
  auto const magnitude = static_cast<Bits>(bits << 1) >> 1;
  auto const exponent = static_cast<std::uint32_t>(magnitude >> kMantissaBits<Float>);
  auto const is_normal = exponent != 0 ? Bits{1} : Bits{0};
  auto const mantissa = (magnitude & ((Bits{1} << kMantissaBits<Float>)-1)) | is_normal << kMantissaBits<Float>;
  // Only zeros lie below the lowest bit: however far they are shifted.
  auto const shift = (exponent - static_cast<std::uint32_t>(is_normal) - position) % 128;
  auto const sign = UInt128{0} - (bits >> (8 * sizeof(Bits) - 1));
  return ((UInt128{mantissa} << shift) ^ sign) - sign;
}

}  // namespace

FloatTotals::FloatTotals(contract::ValueKind kind, FixedPoint fixed_point) noexcept
    : kind_(kind), fixed_(fixed_point) {}

template <class Float>
void FloatTotals::add_floats(contract::AggregateInput const& input, std::uint64_t first,
                             std::span<std::uint32_t const> groups, std::uint64_t* sums, std::size_t stride) {
  // A multiple of 32: looked at and added while they lie in the first-level cache.
  constexpr std::size_t kAtOnce = 256;
  auto const split = float_split(fixed_, kMantissaBits<Float>, contract::unit_exponent(kind_));
  auto const* const values = reinterpret_cast<std::byte const*>(input.values.data()) + first * sizeof(Float);
  auto const& kernels = float_kernels();
  auto* const split_values = sizeof(Float) == 4 ? kernels.split_32 : kernels.split_64;
  std::uint64_t low[kAtOnce];
  std::uint64_t high[kAtOnce];
  for (std::size_t begin = 0; begin < groups.size(); begin += kAtOnce) {
    auto const count = std::min(kAtOnce, groups.size() - begin);
    if (fixed_.is_guess) seen_.add(input, first + begin, count);
    if (split) {
      for_ranges_ahead(values + begin * sizeof(Float), sizeof(Float), count,
                       [&](std::size_t first_of, std::size_t end) {
                         split_values(values + (begin + first_of) * sizeof(Float), end - first_of, *split,
                                      low + first_of, high + first_of);
                       });
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        auto const value = load<Float>(values, static_cast<std::int64_t>(begin + i));
        auto const integer = fixed_point_value(value, fixed_.position);
        low[i] = static_cast<std::uint64_t>(integer);
        high[i] = static_cast<std::uint64_t>(integer >> 64);
      }
    }
    for_valid_rows(input, first + begin, groups.subspan(begin, count), [&](std::uint64_t row, std::uint32_t group) {
      auto const i = row - first - begin;
      add_words(sums + stride * group, low[i], high[i]);
    });
  }
}

void FloatTotals::add(contract::AggregateInput const& input, std::uint64_t first, std::span<std::uint32_t const> groups,
                      std::uint64_t* sums, std::size_t stride) {
  if (!fits()) return;
  if (kind_ == contract::ValueKind::float32)
    add_floats<float>(input, first, groups, sums, stride);
  else
    add_floats<double>(input, first, groups, sums, stride);
}

}  // namespace garuda::cpu
