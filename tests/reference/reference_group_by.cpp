#include "tests/reference/reference_group_by.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "tests/reference/big_number.hpp"
#include "tests/reference/column_reader.hpp"

namespace garuda::reference {
namespace {

bool is_float(TypeId id) { return id == TypeId::float32 || id == TypeId::float64; }
bool is_decimal(TypeId id) { return id >= TypeId::decimal32 && id <= TypeId::decimal128; }
bool is_text(DataType const& type) {
  return is_variable_width(type) || type.id == TypeId::fixed_size_binary || type.id == TypeId::boolean ||
         (type.id == TypeId::dictionary && is_text(*type.value));
}

/// A float from the bits that its cell shows.
double float_of(TypeId id, std::string const& cell) {
  auto const bits = std::strtoull(cell.c_str(), nullptr, 16);
  if (id == TypeId::float32) {
    auto const narrow = static_cast<std::uint32_t>(bits);
    float value;
    std::memcpy(&value, &narrow, sizeof(value));
    return value;
  }
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

std::string hexadecimal(std::uint64_t bits, int digits) {
  char text[17];
  std::snprintf(text, sizeof(text), "%0*llx", digits, static_cast<unsigned long long>(bits));
  return text;
}

/// The cell of a float64 in canonical form.
std::string cell_of(double value) {
  if (std::isnan(value)) return "7ff8000000000000";
  if (value == 0) return "0000000000000000";
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return hexadecimal(bits, 16);
}

/// The canonical form of a cell of any type: +0.0, one NaN.
std::string canonical(DataType const& type, std::string const& cell) {
  if (type.id == TypeId::dictionary) return canonical(*type.value, cell);
  if (type.id == TypeId::float16) {
    auto const magnitude = std::strtoul(cell.c_str(), nullptr, 16) & 0x7FFF;
    return magnitude == 0 ? "0000" : magnitude > 0x7C00 ? "7e00" : cell;
  }
  if (!is_float(type.id)) return cell;
  auto const value = float_of(type.id, cell);
  if (type.id == TypeId::float64) return cell_of(value);
  return std::isnan(value) ? "7fc00000" : value == 0 ? "00000000" : cell;
}

/// Whether value a comes before value b.
bool is_less(DataType const& type, std::string const& a, std::string const& b) {
  if (is_text(type)) return a < b;  // false comes before true
  if (is_float(type.id)) {
    auto const x = float_of(type.id, a);
    auto const y = float_of(type.id, b);
    return std::isnan(y) ? !std::isnan(x) : x < y;
  }
  auto const negative = a.front() == '-';
  if (negative != (b.front() == '-')) return negative;
  if (a.size() != b.size()) return (a.size() < b.size()) != negative;
  return negative ? a > b : a < b;
}

/// Whether the integer of `digits` is within [-|lowest|, highest], both given as digits.
bool is_within(std::string const& digits, std::string const& lowest, std::string const& highest) {
  DataType integer;
  return !is_less(integer, digits, lowest) && !is_less(integer, highest, digits);
}

double power_of_ten(std::int32_t exponent) { return std::strtod(("1e" + std::to_string(exponent)).c_str(), nullptr); }

/// The values of one column in one group, nulls left out.
using Values = std::vector<std::string>;

double float_sum(DataType const& type, Values const& values) {
  BigSum sum(-1074);
  bool nan = false;
  bool positive = false;
  bool negative = false;
  for (auto const& cell : values) {
    auto const value = float_of(type.id, cell);
    nan = nan || std::isnan(value);
    positive = positive || (std::isinf(value) && value > 0);
    negative = negative || (std::isinf(value) && value < 0);
    if (std::isfinite(value)) sum.add(value);
  }
  if (nan || (positive && negative)) return std::nan("");
  if (positive || negative) return positive ? HUGE_VAL : -HUGE_VAL;
  return sum.round();
}

BigSum integer_sum(Values const& values) {
  BigSum sum(0);
  for (auto const& cell : values) sum.add(cell);
  return sum;
}

std::string sum_cell(DataType const& type, Values const& values) {
  if (is_float(type.id)) return cell_of(float_sum(type, values));
  auto const digits = integer_sum(values).digits();
  auto const is_unsigned = type.id >= TypeId::uint8 && type.id <= TypeId::uint64;
  std::string const nines(38, '9');
  auto const fits = is_decimal(type.id) ? is_within(digits, "-" + nines, nines)
                    : is_unsigned       ? is_within(digits, "0", "18446744073709551615")
                                        : is_within(digits, "-9223372036854775808", "9223372036854775807");
  if (!fits) throw SumOverflow(digits);
  return digits;
}

std::string mean_cell(DataType const& type, Values const& values) {
  auto const count = static_cast<double>(values.size());
  if (is_float(type.id)) return cell_of(float_sum(type, values) / count);
  auto mean = integer_sum(values).round() / count;
  if (is_decimal(type.id)) mean = type.scale < 0 ? mean * power_of_ten(-type.scale) : mean / power_of_ten(type.scale);
  return cell_of(mean);
}

Cell aggregate_cell(AggregateFunction function, DataType const& type, Values const& values) {
  if (function == AggregateFunction::count) return std::to_string(values.size());
  if (values.empty()) return std::nullopt;
  if (function == AggregateFunction::sum) return sum_cell(type, values);
  if (function == AggregateFunction::mean) return mean_cell(type, values);
  auto best = values.front();
  for (auto const& value : values)
    if (function == AggregateFunction::min ? is_less(type, value, best) : is_less(type, best, value)) best = value;
  return canonical(type, best);
}

std::size_t column_named(TableView table, std::string const& name) {
  for (std::size_t c = 0; c < table.num_columns(); ++c)
    if (table.schema()[c].name == name) return c;
  throw std::runtime_error("no column " + name);
}

std::string name_of(Aggregate const& aggregate) {
  if (aggregate.name) return *aggregate.name;
  char const* const names[] = {"count", "sum", "min", "max", "mean"};
  std::string const function = names[static_cast<std::size_t>(aggregate.function)];
  return aggregate.column ? function + "_" + *aggregate.column : function;
}

}  // namespace

TextTable reference_group_by(TableView table, GroupBySpec const& spec) {
  auto const cells = read_table(table);
  std::map<std::vector<Cell>, std::size_t> group_of_key;
  std::vector<std::vector<Cell>> keys;
  std::vector<std::vector<std::size_t>> rows;
  if (spec.keys.empty()) {
    keys.emplace_back();
    rows.emplace_back();
    group_of_key[{}] = 0;
  }
  for (std::size_t row = 0; row < cells.rows.size(); ++row) {
    std::vector<Cell> key;
    for (auto const& name : spec.keys) {
      auto const c = column_named(table, name);
      auto const& cell = cells.rows[row][c];
      key.push_back(cell ? Cell(canonical(table.schema()[c].type, *cell)) : std::nullopt);
    }
    auto const [found, is_new] = group_of_key.emplace(key, keys.size());
    if (is_new) {
      keys.push_back(key);
      rows.emplace_back();
    }
    rows[found->second].push_back(row);
  }

  TextTable result;
  result.names = spec.keys;
  result.rows = keys;
  for (auto const& aggregate : spec.aggregates) {
    result.names.push_back(name_of(aggregate));
    for (std::size_t g = 0; g < keys.size(); ++g) {
      if (!aggregate.column) {
        result.rows[g].push_back(std::to_string(rows[g].size()));
        continue;
      }
      auto const c = column_named(table, *aggregate.column);
      Values values;
      for (auto const row : rows[g])
        if (cells.rows[row][c]) values.push_back(*cells.rows[row][c]);
      result.rows[g].push_back(aggregate_cell(aggregate.function, table.schema()[c].type, values));
    }
  }
  return result;
}

}  // namespace garuda::reference
