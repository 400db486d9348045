#include "operators/resolve/exact_sum.hpp"

#include <algorithm>
#include <bit>

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
  constexpr std::int32_t kBias = 1023;
  if (value == 0) return 0.0;
  auto const magnitude = value < 0 ? -static_cast<UInt128>(value) : static_cast<UInt128>(value);
  auto const high = static_cast<std::uint64_t>(magnitude >> 64);
  auto const zeros = high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(static_cast<std::uint64_t>(magnitude));
  // The 63 highest bits, the last one telling whether any is below: the conversion rounds as it would round all of
  // them, and beyond the subnormals scaling rounds no more.
  auto const shifted = magnitude << zeros;
  auto const top = static_cast<std::int64_t>(shifted >> 65) | (shifted << 63 != 0 ? 1 : 0);
  auto const scale = exponent + 65 - zeros;
  if (exponent >= kLowestNormal && scale >= kLowestNormal && scale <= kBias) {
    auto const power = std::bit_cast<double>(static_cast<std::uint64_t>(scale + kBias) << 52);
    auto const rounded = static_cast<double>(top) * power;
    return value < 0 ? -rounded : rounded;
  }
  auto const bits = static_cast<UInt128>(value);
  std::uint64_t const words[]{static_cast<std::uint64_t>(bits), static_cast<std::uint64_t>(bits >> 64)};
  return round_to_double(words, exponent);
}

std::optional<Int128> IntegerSums::narrow(std::uint64_t group) const noexcept {
  auto const* const words = sums_ + words_ * group;
  if (words_ == 1) return is_signed_ ? Int128{static_cast<std::int64_t>(words[0])} : Int128{words[0]};
  auto const sign = (words[1] >> 63) != 0 ? ~std::uint64_t{0} : 0;
  for (std::uint32_t w = 2; w < words_; ++w)
    if (words[w] != sign) return std::nullopt;
  return static_cast<Int128>(wide_word(words));
}

double IntegerSums::rounded(std::uint64_t group, std::int32_t exponent) const noexcept {
  if (auto const sum = narrow(group)) return round_to_double(*sum, exponent);
  return round_to_double(std::span(sums_ + words_ * group, words_), exponent);
}

double round_float_sum(contract::FloatSums const& sums, std::uint64_t group, contract::ValueKind kind) noexcept {
  auto const first = sums.offsets[group];
  auto const count = static_cast<int>(sums.offsets[group + 1] - first);
  return std::bit_cast<double>(round_windows(sums.flags[group], sums.windows.data() + 2 * first, count,
                                             64 * sums.first_window[group] + contract::unit_exponent(kind)));
}

}  // namespace garuda::resolve
