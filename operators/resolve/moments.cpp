// Variances, covariances and correlations of exact sums: one rational a value, rounded once.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

#include "core/big_integer.hpp"
#include "operators/resolve/group_by_columns.hpp"

namespace garuda::resolve {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
/// The largest power of ten of 64 bits.
constexpr std::int32_t kWordDigits = 19;

constexpr std::uint64_t power_of_ten(std::int32_t exponent) {
  std::uint64_t power = 1;
  for (std::int32_t i = 0; i < exponent; ++i) power *= 10;
  return power;
}

BigInteger part_of(FinaliseInput const& input, ExactSum::Part const& part, std::uint64_t group) {
  auto const& state = input.states[part.state];
  auto const words = state.words_per_sum != 0 ? state.words_per_sum : contract::sum_words(part.kind);
  // Sums of several words are signed, whatever the values are.
  bool const is_signed = words > 1 || contract::is_signed_integer(part.kind);
  return {std::span(&state.sums[words * group], words), is_signed};
}

BigInteger sum_of(FinaliseInput const& input, ExactSum const& sum, std::uint64_t group) {
  auto total = part_of(input, sum.parts[0], group);
  for (std::size_t p = 1; p < sum.parts.size(); ++p)
    total = total + (part_of(input, sum.parts[p], group) << (static_cast<std::uint32_t>(p) * sum.part_bits));
  return total;
}

/// n Σxy − Σx Σy, over 2^xy.exponent.
BigInteger spread_of(FinaliseInput const& input, ExactSum const& x, ExactSum const& y, ExactSum const& xy,
                     std::uint64_t count, std::uint64_t group) {
  auto const sum_x = sum_of(input, x, group);
  return BigInteger(count) * sum_of(input, xy, group) - sum_x * (&x == &y ? sum_x : sum_of(input, y, group));
}

bool is_special(FinaliseInput const& input, std::uint64_t group) {
  auto const& special = input.aggregate->moments.special;
  return special && input.states[*special].maxima[group] != 0;
}

/// numerator · 2^exponent / (10^scale · Π divisors), rounded once.
double quotient(BigInteger numerator, std::int32_t exponent, std::int32_t scale,
                std::span<std::uint64_t const> divisors) {
  for (auto digits = -scale; digits > 0; digits -= kWordDigits)
    numerator = numerator * BigInteger(power_of_ten(std::min(digits, kWordDigits)));
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
    goes_on = numerator.divide(power_of_ten(std::min(scale, kWordDigits))) || goes_on;
  return numerator.round(exponent - static_cast<std::int32_t>(shift), goes_on);
}

double variance(FinaliseInput const& input, std::uint64_t group) {
  if (is_special(input, group)) return kNan;
  auto const& moments = input.aggregate->moments;
  auto const count = input.state.counts[group];
  auto const& y = moments.y.parts.empty() ? moments.x : moments.y;
  std::array const divisors{count, input.aggregate->row->least_values > 1 ? count - 1 : count};
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
    if (is_special(input, group))
      out.put(i, canonical(kNan));
    else if (xx.value == 0 || yy.value == 0)
      out.set_null(i);
    else
      out.put(i, canonical(correlation(spread(moments.x, moments.y, moments.xy), xx, yy)));
  }
  return std::nullopt;
}

}  // namespace garuda::resolve
