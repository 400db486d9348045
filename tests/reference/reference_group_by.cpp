#include "tests/reference/reference_group_by.hpp"

#include <cmath>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "tests/reference/big_number.hpp"
#include "tests/reference/cell_values.hpp"
#include "tests/reference/column_reader.hpp"
#include "tests/reference/reference_aggregates.hpp"

namespace garuda::reference {
namespace {

/// Whether the integer of `digits` is within [-|lowest|, highest], both given as digits.
bool is_within(std::string const& digits, std::string const& lowest, std::string const& highest) {
  DataType integer;
  return !is_less(integer, digits, lowest) && !is_less(integer, highest, digits);
}

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
  std::string const nines(type.id == TypeId::decimal256 ? 76 : 38, '9');
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

std::string name_of(Aggregate const& aggregate) {
  if (aggregate.name) return *aggregate.name;
  char const* const names[] = {"count",          "sum",     "min",     "max",      "mean",      "var",
                               "var_pop",        "std",     "std_pop", "covar",    "covar_pop", "corr",
                               "count_distinct", "first",   "last",    "any",      "bool_and",  "bool_or",
                               "arg_min",        "arg_max", "median",  "quantile", "min_n",     "max_n",
                               "product"};
  std::string name = names[static_cast<std::size_t>(aggregate.function)];
  if (aggregate.column) name.append("_").append(*aggregate.column);
  if (aggregate.second) name.append("_").append(*aggregate.second);
  if (aggregate.function == AggregateFunction::min_n || aggregate.function == AggregateFunction::max_n)
    name.append("_").append(std::to_string(aggregate.most));
  if (aggregate.function == AggregateFunction::quantile) {
    std::ostringstream share;
    share << "_" << aggregate.quantile;
    name += share.str();
  }
  return name;
}

}  // namespace

TextTable reference_group_by(TableView table, GroupBySpec const& spec) {
  return reference_group_by(table.schema(), read_table(table), spec);
}

TextTable reference_group_by(Schema const& schema, TextTable const& cells, GroupBySpec const& spec) {
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
      auto const c = column_named(schema, name);
      auto const& cell = cells.rows[row][c];
      key.push_back(cell ? Cell(canonical(schema[c].type, *cell)) : std::nullopt);
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
      auto const c = column_named(schema, *aggregate.column);
      if (aggregate.function > AggregateFunction::mean) {
        auto const second = aggregate.second ? column_named(schema, *aggregate.second) : c;
        result.rows[g].push_back(further_cell(aggregate, schema, cells, rows[g], c, second));
        continue;
      }
      Values values;
      for (auto const row : rows[g])
        if (cells.rows[row][c]) values.push_back(*cells.rows[row][c]);
      result.rows[g].push_back(aggregate_cell(aggregate.function, schema[c].type, values));
    }
  }
  return result;
}

}  // namespace garuda::reference
