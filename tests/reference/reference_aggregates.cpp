#include "tests/reference/reference_aggregates.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <string>

#include "tests/reference/big_number.hpp"
#include "tests/reference/cell_values.hpp"
#include "tests/reference/reference_group_by.hpp"

namespace garuda::reference {
namespace {

using F = AggregateFunction;

/// Every float is a multiple of 2^-kUnit.
constexpr std::int32_t kUnit = 1074;

/// ± magnitude · 2^exponent, exponent >= -kUnit.
struct Number {
  BigNatural magnitude;
  bool is_negative = false;
  std::int32_t exponent = 0;
};

BigNatural natural(std::uint64_t value) {
  BigNatural number;
  number.add_shifted(value, 0);
  return number;
}

Number number_of(DataType const& type, std::string const& cell) {
  Number number;
  if (!is_float(type.id)) {
    number.is_negative = cell.front() == '-';
    for (char const c : cell)
      if (c != '-') number.magnitude.multiply_add(10, static_cast<std::uint32_t>(c - '0'));
    return number;
  }
  auto const value = float_of(type.id, cell);
  auto const mantissa = std::frexp(std::fabs(value), &number.exponent);
  auto bits = static_cast<std::uint64_t>(std::ldexp(mantissa, 53));
  for (number.exponent -= 53; number.exponent < -kUnit; ++number.exponent) bits >>= 1;  // subnormals: zero bits
  number.magnitude = natural(bits);
  number.is_negative = std::signbit(value);
  return number;
}

/// An integer over 2^(-powers · kUnit).
struct Total {
  BigNatural positive, negative;

  void add(Number const& a, int powers) {
    (a.is_negative ? negative : positive).add(a.magnitude, static_cast<std::uint32_t>(a.exponent + powers * kUnit));
  }
  Total times(Total const& other) const {
    Total product{positive.times(other.positive), positive.times(other.negative)};
    product.positive.add(negative.times(other.negative));
    product.negative.add(negative.times(other.positive));
    return product;
  }
  /// The magnitude, and its sign.
  BigNatural magnitude(bool& is_negative) const {
    is_negative = positive.compare(negative) < 0;
    auto larger = is_negative ? negative : positive;
    larger.subtract(is_negative ? positive : negative);
    return larger;
  }
};

Number product(Number const& a, Number const& b) {
  return {a.magnitude.times(b.magnitude), a.is_negative != b.is_negative, a.exponent + b.exponent};
}

/// n Σab − Σa Σb, in units of 2^(-2 kUnit).
Total spread(std::vector<Number> const& a, std::vector<Number> const& b) {
  Total sum_a, sum_b, sum_ab;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum_a.add(a[i], 1);
    sum_b.add(b[i], 1);
    sum_ab.add(product(a[i], b[i]), 2);
  }
  auto const n = natural(a.size());
  Total result{sum_ab.positive.times(n), sum_ab.negative.times(n)};
  auto const squares = sum_a.times(sum_b);
  result.positive.add(squares.negative);
  result.negative.add(squares.positive);
  return result;
}

double divided(Total const& total, std::uint32_t n, std::uint32_t m, std::int32_t scale) {
  constexpr std::uint32_t kSpare = 600;
  bool is_negative = false;
  BigNatural value;
  value.add(total.magnitude(is_negative), kSpare);
  for (; scale < 0; ++scale) value.multiply_add(10, 0);
  bool has_rest = false;
  for (; scale > 0; --scale) has_rest = value.divide(10) != 0 || has_rest;
  has_rest = value.divide(n) != 0 || has_rest;
  has_rest = value.divide(m) != 0 || has_rest;
  value.multiply_add(2, has_rest ? 1 : 0);
  auto const result = rounded(value, -2 * kUnit - static_cast<std::int32_t>(kSpare) - 1);
  return is_negative ? -result : result;
}

/// A total's leading bits as a double below 1 and the power of two beside it.
double leading(Total const& total, std::int32_t& exponent) {
  bool is_negative = false;
  auto const value = total.magnitude(is_negative);
  exponent = static_cast<std::int32_t>(value.bits());
  auto const result = rounded(value, -exponent);
  return is_negative ? -result : result;
}

Cell correlation(std::vector<Number> const& x, std::vector<Number> const& y) {
  std::int32_t of_xy = 0;
  std::int32_t of_xx = 0;
  std::int32_t of_yy = 0;
  auto const xy = leading(spread(x, y), of_xy);
  auto xx = leading(spread(x, x), of_xx);
  auto const yy = leading(spread(y, y), of_yy);
  if (xx == 0 || yy == 0) return std::nullopt;
  if ((of_xx + of_yy) % 2 != 0) {
    xx *= 2;
    --of_xx;
  }
  auto const value = std::ldexp(xy / std::sqrt(xx * yy), of_xy - (of_xx + of_yy) / 2);
  return cell_of(std::min(std::max(value, -1.0), 1.0));
}

/// The rows where neither column is null.
struct Pairs {
  std::vector<std::string> first, second;
  std::vector<std::size_t> rows;
};

Cell moment_cell(F function, DataType const& type_x, DataType const& type_y, Pairs const& pairs) {
  bool const is_sample = function == F::var || function == F::std_dev || function == F::covar || function == F::corr;
  auto const n = static_cast<std::uint32_t>(pairs.rows.size());
  if (n < (is_sample ? 2U : 1U)) return std::nullopt;
  std::vector<Number> x, y;
  for (std::size_t i = 0; i < n; ++i) {
    for (auto const& [type, cell] : {std::pair(type_x, pairs.first[i]), std::pair(type_y, pairs.second[i])})
      if (is_float(type.id) && !std::isfinite(float_of(type.id, cell))) return cell_of(std::nan(""));
    x.push_back(number_of(type_x, pairs.first[i]));
    y.push_back(number_of(type_y, pairs.second[i]));
  }
  if (function == F::corr) return correlation(x, y);
  auto const scale = (is_decimal(type_x.id) ? type_x.scale : 0) + (is_decimal(type_y.id) ? type_y.scale : 0);
  auto const value = divided(spread(x, y), n, is_sample ? n - 1 : n, scale);
  return cell_of(function == F::std_dev || function == F::std_dev_pop ? std::sqrt(value) : value);
}

double double_of(DataType const& type, std::string const& cell) {
  if (is_float(type.id)) return float_of(type.id, cell);
  auto const value = std::strtod(cell.c_str(), nullptr);
  if (!is_decimal(type.id)) return value;
  return type.scale < 0 ? value * power_of_ten(-type.scale) : value / power_of_ten(type.scale);
}

Cell quantile_cell(DataType const& type, std::vector<std::string> values, double share) {
  std::stable_sort(values.begin(), values.end(), [&](auto const& a, auto const& b) { return is_less(type, a, b); });
  auto const place = share * static_cast<double>(values.size() - 1);
  auto const below = std::floor(place);
  auto const at = static_cast<std::size_t>(below);
  bool const is_number = is_float(type.id) || is_decimal(type.id) || type.id <= TypeId::uint64;
  if (!is_number) return values[at];
  auto const low = double_of(type, values[at]);
  auto const high = double_of(type, values[std::min(at + 1, values.size() - 1)]);
  auto const part = place - below;
  if (part == 0 || low == high) return cell_of(low);
  return cell_of(part >= 0.5 ? high - (high - low) * (1 - part) : low + (high - low) * part);
}

Cell product_cell(DataType const& type, std::vector<std::string> const& values) {
  Number total{natural(1)};
  for (auto const& value : values) total = product(total, number_of(type, value));
  bool const is_negative = total.is_negative && !total.magnitude.is_zero();
  bool const is_signed = type.id <= TypeId::int64;
  auto most = natural(is_signed ? std::uint64_t{1} << 63 : ~std::uint64_t{0});
  if (is_signed && !is_negative) most.subtract(natural(1));
  auto text = total.magnitude.digits();
  if (is_negative) text.insert(text.begin(), '-');
  if (total.magnitude.compare(most) > 0) throw SumOverflow(text);
  return text;
}

Cell list_cell(DataType const& type, std::vector<std::string> values, bool is_least, std::size_t most) {
  std::stable_sort(values.begin(), values.end(),
                   [&](auto const& a, auto const& b) { return is_least ? is_less(type, a, b) : is_less(type, b, a); });
  std::string text = "[";
  for (std::size_t i = 0; i < std::min(most, values.size()); ++i) text += canonical(type, values[i]) + ";";
  return text + "]";
}

}  // namespace

Cell further_cell(Aggregate const& aggregate, Schema const& schema, TextTable const& cells,
                  std::vector<std::size_t> const& rows, std::size_t column, std::size_t second) {
  auto const& type = schema[column].type;
  auto const& by = schema[second].type;
  auto const function = aggregate.function;
  Pairs pairs;
  for (auto const row : rows) {
    if (!cells.rows[row][column] || !cells.rows[row][second]) continue;
    pairs.first.push_back(*cells.rows[row][column]);
    pairs.second.push_back(*cells.rows[row][second]);
    pairs.rows.push_back(row);
  }
  if (function >= F::var && function <= F::corr) return moment_cell(function, type, by, pairs);
  if (function == F::count_distinct) {
    std::set<std::string> distinct;
    for (auto const& value : pairs.first) distinct.insert(canonical(type, value));
    return std::to_string(distinct.size());
  }
  if (pairs.rows.empty()) return std::nullopt;
  switch (function) {
    case F::first:
    case F::any:
      return pairs.first.front();
    case F::last:
      return pairs.first.back();
    case F::bool_and:
      return std::ranges::count(pairs.first, "false") == 0 ? "true" : "false";
    case F::bool_or:
      return std::ranges::count(pairs.first, "true") == 0 ? "false" : "true";
    case F::arg_min:
    case F::arg_max: {
      std::size_t best = 0;
      for (std::size_t i = 1; i < pairs.rows.size(); ++i)
        if (function == F::arg_min ? is_less(by, pairs.second[i], pairs.second[best])
                                   : is_less(by, pairs.second[best], pairs.second[i]))
          best = i;
      return pairs.first[best];
    }
    case F::median:
      return quantile_cell(type, pairs.first, 0.5);
    case F::quantile:
      return quantile_cell(type, pairs.first, aggregate.quantile);
    case F::min_n:
    case F::max_n:
      return list_cell(type, pairs.first, function == F::min_n, aggregate.most);
    case F::product:
      return product_cell(type, pairs.first);
    default:
      throw std::runtime_error("the oracle does not know this aggregate");
  }
}

}  // namespace garuda::reference
