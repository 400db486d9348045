#include "operators/resolve/exact_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/numbers/exact_rounding.hpp"

namespace garuda::resolve {

double round_to_double(std::span<std::uint64_t const> words, std::int32_t exponent) noexcept {
  ExactInteger total;
  total.count = static_cast<int>(words.size());
  std::ranges::copy(words, total.words);
  return std::bit_cast<double>(round_signed(total, exponent));
}

double round_to_double(Int128 value, std::int32_t exponent) noexcept {
  constexpr std::int32_t kLowestNormal = -1022;
  auto const magnitude = value < 0 ? -static_cast<UInt128>(value) : static_cast<UInt128>(value);
  // Beyond the subnormals, where the conversion rounds to as many bits as the result has, scaling rounds no more.
  if (value == 0) return 0.0;
  if (exponent >= kLowestNormal) {
    auto const rounded = std::ldexp(static_cast<double>(magnitude), exponent);
    return value < 0 ? -rounded : rounded;
  }
  auto const bits = static_cast<UInt128>(value);
  std::uint64_t const words[]{static_cast<std::uint64_t>(bits), static_cast<std::uint64_t>(bits >> 64)};
  return round_to_double(words, exponent);
}

double round_float_sum(contract::FloatSums const& sums, std::uint64_t group, contract::ValueKind kind) noexcept {
  auto const first = sums.offsets[group];
  auto const count = static_cast<int>(sums.offsets[group + 1] - first);
  return std::bit_cast<double>(round_windows(sums.flags[group], sums.windows.data() + 2 * first, count,
                                             64 * sums.first_window[group] + contract::unit_exponent(kind)));
}

}  // namespace garuda::resolve
