// Variances, covariances and correlations of exact sums: one rational a value, rounded once.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "core/numbers/big_integer.hpp"
#include "core/numbers/wide_integer.hpp"
#include "operators/resolve/aggregates.hpp"
#include "operators/resolve/exact_state.hpp"
#include "operators/resolve/group_by_columns.hpp"

namespace garuda::resolve {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
/// The largest power of ten of 64 bits.
constexpr std::int32_t kWordDigits = 19;

/// 10^digits, at most 10^19.
constexpr std::uint64_t word_of_ten(std::int32_t digits) { return static_cast<std::uint64_t>(power_of_ten(digits)); }

BigInteger power_of_ten_of(std::int32_t digits) {
  BigInteger power(1);
  for (; digits > 0; digits -= kWordDigits) power = power * BigInteger(word_of_ten(std::min(digits, kWordDigits)));
  return power;
}

/// A sum out of a packed word, all of which fits its lowest 64 bits.
std::uint64_t packed_sum(std::uint64_t word, ExactSum::Part const& part) noexcept {
  return word >> part.first_bit & ~std::uint64_t{0} >> (64 - part.bits);
}

BigInteger part_of(FinaliseInput const& input, ExactSum::Part const& part, std::uint64_t group) {
  IntegerSums const sums(input.states[part.state], part.kind);
  return part.bits != 0 ? BigInteger(packed_sum(sums.lowest_word(group), part)) : sums.exact(group);
}

}  // namespace

BigInteger sum_of(FinaliseInput const& input, ExactSum const& sum, std::uint64_t group) {
  auto total = part_of(input, sum.parts[0], group);
  for (std::size_t p = 1; p < sum.parts.size(); ++p)
    total = total + (part_of(input, sum.parts[p], group) << (static_cast<std::uint32_t>(p) * sum.part_bits));
  return total;
}

bool has_special_value(FinaliseInput const& input, std::uint64_t group) {
  auto const& special = input.aggregate->moments.special;
  return special && input.states[*special].maxima[group] != 0;
}

namespace {

/// n Σxy − Σx Σy, over 2^xy.exponent.
BigInteger spread_of(FinaliseInput const& input, ExactSum const& x, ExactSum const& y, ExactSum const& xy,
                     std::uint64_t count, std::uint64_t group) {
  auto const sum_x = sum_of(input, x, group);
  return BigInteger(count) * sum_of(input, xy, group) - sum_x * (&x == &y ? sum_x : sum_of(input, y, group));
}

/// numerator · 2^exponent / (10^scale · Π divisors), rounded once.
double quotient(BigInteger numerator, std::int32_t exponent, std::int32_t scale,
                std::span<std::uint64_t const> divisors) {
  numerator = numerator * power_of_ten_of(-scale);
  // So many bits more that the quotient has 128 at least, or as many as there are without a remainder.
  constexpr std::uint32_t kQuotientBits = 128;
  auto width = kQuotientBits;
  for (auto const divisor : divisors) width += static_cast<std::uint32_t>(std::bit_width(divisor));
  width += static_cast<std::uint32_t>((std::max(scale, 0) + kWordDigits - 1) / kWordDigits) * 64;
  auto const bits = numerator.bit_width();
  auto const shift = bits == 0 || bits >= width ? 0 : width - bits;
  numerator = numerator << shift;
  bool goes_on = false;
  for (auto const divisor : divisors) goes_on = numerator.divide(divisor) || goes_on;
  for (; scale > 0; scale -= kWordDigits)
    goes_on = numerator.divide(word_of_ten(std::min(scale, kWordDigits))) || goes_on;
  return numerator.round(exponent - static_cast<std::int32_t>(shift), goes_on);
}

/// A sum of one part that fits 128 bits.
std::optional<Int128> narrow_sum(FinaliseInput const& input, ExactSum const& sum, std::uint64_t group) {
  if (sum.parts.size() != 1) return std::nullopt;
  auto const& part = sum.parts[0];
  IntegerSums const sums(input.states[part.state], part.kind);
  return part.bits != 0 ? Int128{packed_sum(sums.lowest_word(group), part)} : sums.narrow(group);
}

std::uint32_t magnitude_bits(Int128 value) noexcept {
  auto const magnitude = static_cast<UInt128>(value < 0 ? -value : value);
  auto const high = static_cast<std::uint64_t>(magnitude >> 64);
  return static_cast<std::uint32_t>(high != 0 ? 64 + std::bit_width(high)
                                              : std::bit_width(static_cast<std::uint64_t>(magnitude)));
}

/// The quotient of numbers of which all fit 128 bits, as `quotient` has it; nullopt when they do not.
std::optional<double> narrow_variance(FinaliseInput const& input, ExactSum const& y, std::uint64_t count,
                                      std::uint64_t spare, std::uint64_t group) {
  constexpr std::uint32_t kBits = 126;
  constexpr std::int32_t kLeastExponent = -900;  // nothing is subnormal
  auto const& moments = input.aggregate->moments;
  auto const x = narrow_sum(input, moments.x, group);
  auto const sum_y = narrow_sum(input, y, group);
  auto const xy = narrow_sum(input, moments.xy, group);
  if (!x || !sum_y || !xy || moments.scale != 0 || count >> 31 != 0) return std::nullopt;
  if (magnitude_bits(*x) + magnitude_bits(*sum_y) > kBits) return std::nullopt;
  if (magnitude_bits(*xy) + static_cast<std::uint32_t>(std::bit_width(count)) > kBits) return std::nullopt;
  auto const spread = static_cast<Int128>(count) * *xy - *x * *sum_y;
  auto const bits = magnitude_bits(spread);
  auto const exponent = moments.xy.exponent - static_cast<std::int32_t>(128 - bits);
  if (spread == 0) return 0.0;
  if (exponent < kLeastExponent || exponent > -kLeastExponent) return std::nullopt;
  // All 128 bits over at most 62: the quotient has 66 at least. What is below its highest 64 only says whether it is 0.
  auto const magnitude = static_cast<UInt128>(spread < 0 ? -spread : spread) << (128 - bits);
  auto const divisor = count * (count - spare);
  auto quotient = magnitude / divisor;
  bool const goes_on = quotient * divisor != magnitude;
  auto const dropped = std::bit_width(static_cast<std::uint64_t>(quotient >> 64));
  auto const below = quotient & ((UInt128{1} << dropped) - 1);
  auto const top = static_cast<std::uint64_t>(quotient >> dropped) | (goes_on || below != 0 ? 1 : 0);
  auto const value = std::ldexp(static_cast<double>(top), exponent + static_cast<std::int32_t>(dropped));
  return spread < 0 ? -value : value;
}

double variance(FinaliseInput const& input, std::uint64_t group) {
  if (has_special_value(input, group)) return kNan;
  auto const& moments = input.aggregate->moments;
  auto const count = input.state.counts[group];
  auto const& y = moments.y.parts.empty() ? moments.x : moments.y;
  auto const spare = input.aggregate->row->least_values > 1 ? std::uint64_t{1} : 0;
  if (auto const narrow = narrow_variance(input, y, count, spare, group)) return *narrow;
  std::array const divisors{count, count - spare};
  return quotient(spread_of(input, moments.x, y, moments.xy, count, group), moments.xy.exponent, moments.scale,
                  divisors);
}

/// A number of few bits, times a power of two that no double has to reach.
struct Scaled {
  double value = 0;
  std::int32_t exponent = 0;

  Scaled(BigInteger const& number, std::int32_t unit)
      : value(number.round(-static_cast<std::int32_t>(number.bit_width()))),
        exponent(unit + static_cast<std::int32_t>(number.bit_width())) {}
};

/// value of spread xy / √(spread xx · spread yy), each rounded to float64 before.
double correlation(Scaled const& xy, Scaled xx, Scaled const& yy) {
  auto exponent = xx.exponent + yy.exponent;
  if (exponent % 2 != 0) {
    xx.value *= 2;
    --exponent;
  }
  auto const value = std::ldexp(xy.value / std::sqrt(xx.value * yy.value), xy.exponent - exponent / 2);
  return std::clamp(value, -1.0, 1.0);
}

}  // namespace

std::optional<std::uint64_t> finalise_wide_sum(FinaliseInput const& input, GroupRange const& groups,
                                               FinaliseOutput const& out) {
  auto const limit = power_of_ten_of(kDecimal256Digits);
  for (std::uint64_t i = 0; i < groups.count; ++i) {
    if (out.is_null(i)) continue;
    auto const sum = sum_of(input, input.aggregate->moments.x, groups[i]);
    auto const magnitude = sum.is_negative() ? -sum : sum;
    if (!(magnitude - limit).is_negative()) return groups[i];
    std::array<std::uint64_t, 4> words{};
    sum.write(words);
    out.put(i, words);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> finalise_wide_mean(FinaliseInput const& input, GroupRange const& groups,
                                                FinaliseOutput const& out) {
  for (std::uint64_t i = 0; i < groups.count; ++i) {
    if (out.is_null(i)) continue;
    auto const sum = sum_of(input, input.aggregate->moments.x, groups[i]).round(0);
    out.put(i, canonical(scaled(sum / static_cast<double>(input.state.counts[groups[i]]), input.input.scale)));
  }
  return std::nullopt;
}

std::optional<std::uint64_t> finalise_var(FinaliseInput const& input, GroupRange const& groups,
                                          FinaliseOutput const& out) {
  for (std::uint64_t i = 0; i < groups.count; ++i)
    if (!out.is_null(i)) out.put(i, canonical(variance(input, groups[i])));
  return std::nullopt;
}

std::optional<std::uint64_t> finalise_std(FinaliseInput const& input, GroupRange const& groups,
                                          FinaliseOutput const& out) {
  for (std::uint64_t i = 0; i < groups.count; ++i)
    if (!out.is_null(i)) out.put(i, canonical(std::sqrt(variance(input, groups[i]))));
  return std::nullopt;
}

std::optional<std::uint64_t> finalise_corr(FinaliseInput const& input, GroupRange const& groups,
                                           FinaliseOutput const& out) {
  auto const& moments = input.aggregate->moments;
  for (std::uint64_t i = 0; i < groups.count; ++i) {
    if (out.is_null(i)) continue;
    auto const group = groups[i];
    auto const count = input.state.counts[group];
    auto const spread = [&](ExactSum const& x, ExactSum const& y, ExactSum const& xy) {
      return Scaled(spread_of(input, x, y, xy, count, group), xy.exponent);
    };
    auto const xx = spread(moments.x, moments.x, moments.xx);
    auto const yy = spread(moments.y, moments.y, moments.yy);
    if (has_special_value(input, group))
      out.put(i, canonical(kNan));
    else if (xx.value == 0 || yy.value == 0)
      out.set_null(i);
    else
      out.put(i, canonical(correlation(spread(moments.x, moments.y, moments.xy), xx, yy)));
  }
  return std::nullopt;
}

}  // namespace garuda::resolve
