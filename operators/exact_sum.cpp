#include "operators/exact_sum.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "core/ordered_value.hpp"
#include "core/wide_integer.hpp"

namespace garuda::operators {
namespace {

constexpr std::size_t kMaxWords = 40;
constexpr std::int32_t kDoubleBits = 53;
constexpr std::int32_t kLowestExponent = -1074;  // of the least subnormal

using Words = std::array<std::uint64_t, kMaxWords>;

/// Negates a two's complement integer of `count` words.
void negate(Words& words, std::size_t count) {
  std::uint64_t carry = 1;
  for (std::size_t w = 0; w < count; ++w) {
    words[w] = ~words[w] + carry;
    carry = carry != 0 && words[w] == 0 ? 1 : 0;
  }
}

/// Bits [first, first + 64) of an unsigned integer; first may be negative.
std::uint64_t bits_from(Words const& words, std::int32_t first) {
  auto const word_at = [&](std::int32_t w) {
    return w < 0 || w >= static_cast<std::int32_t>(kMaxWords) ? 0 : words[static_cast<std::size_t>(w)];
  };
  auto const word = first >> 6;
  auto const shift = static_cast<std::uint32_t>(first & 63);
  if (shift == 0) return word_at(word);
  return (word_at(word) >> shift) | (word_at(word + 1) << (64 - shift));
}

bool any_below(Words const& words, std::int32_t bit) {
  if (bit <= 0) return false;
  auto const whole = static_cast<std::size_t>(bit / 64);
  for (std::size_t w = 0; w < whole; ++w)
    if (words[w] != 0) return true;
  return bit % 64 != 0 && (words[whole] << (64 - bit % 64)) != 0;
}

/// Rounds an unsigned integer times 2^exponent.
double round_magnitude(Words const& words, std::int32_t exponent) {
  auto top = static_cast<std::int32_t>(kMaxWords) - 1;
  while (top >= 0 && words[static_cast<std::size_t>(top)] == 0) --top;
  if (top < 0) return 0.0;
  auto const highest = 64 * top + static_cast<std::int32_t>(std::bit_width(words[static_cast<std::size_t>(top)])) - 1;
  // The lowest bit that is kept: 53 of them, or down to the least subnormal.
  auto const lowest = std::max(highest - kDoubleBits + 1, kLowestExponent - exponent);
  if (lowest > highest + 1) return 0.0;
  auto mantissa = bits_from(words, lowest) & ((std::uint64_t{1} << kDoubleBits) - 1);
  auto const half = (bits_from(words, lowest - 1) & 1) != 0;
  if (half && (any_below(words, lowest - 1) || (mantissa & 1) != 0)) ++mantissa;
  return std::ldexp(static_cast<double>(mantissa), lowest + exponent);
}

}  // namespace

double round_to_double(std::span<std::uint64_t const> words, std::int32_t exponent) noexcept {
  Words magnitude{};
  std::copy(words.begin(), words.end(), magnitude.begin());
  auto const negative = !words.empty() && (words.back() >> 63) != 0;
  if (negative) negate(magnitude, words.size());
  auto const rounded = round_magnitude(magnitude, exponent);
  return negative ? -rounded : rounded;
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
  std::array<std::uint64_t, 2> const words{static_cast<std::uint64_t>(bits), static_cast<std::uint64_t>(bits >> 64)};
  return round_to_double(words, exponent);
}

double round_float_sum(FloatSums const& sums, std::uint64_t group, ValueKind kind) noexcept {
  auto const flags = sums.flags[group];
  auto const infinities = flags & (FloatSums::kPositiveInfinity | FloatSums::kNegativeInfinity);
  if ((flags & FloatSums::kNan) != 0 || infinities == (FloatSums::kPositiveInfinity | FloatSums::kNegativeInfinity))
    return std::bit_cast<double>(kCanonicalNan64);
  if (infinities != 0)
    return infinities == FloatSums::kPositiveInfinity ? std::numeric_limits<double>::infinity()
                                                      : -std::numeric_limits<double>::infinity();
  auto const count = sums.offsets[group + 1] - sums.offsets[group];
  if (count == 0) return 0.0;
  // Two words more than windows: room for the last window's upper half and the sign.
  Words total{};
  auto const num_words = count + 2;
  for (std::uint64_t w = 0; w < count; ++w) {
    auto const* const window = &sums.windows[2 * (sums.offsets[group] + w)];
    auto const sign = (window[1] >> 63) != 0 ? ~std::uint64_t{0} : 0;
    std::uint64_t carry = 0;
    for (auto i = w; i < num_words; ++i) {
      auto const addend = i == w ? window[0] : i == w + 1 ? window[1] : sign;
      auto const word = UInt128{total[i]} + addend + carry;
      total[i] = static_cast<std::uint64_t>(word);
      carry = static_cast<std::uint64_t>(word >> 64);
    }
  }
  return round_to_double(std::span(total).first(num_words), 64 * sums.first_window[group] + unit_exponent(kind));
}

}  // namespace garuda::operators
