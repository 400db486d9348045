// Prints, for compare_with_duckdb.py, a table of edge values, expressions over it as SQL, and their values as the
// evaluator has them: in blocks of 1,024 rows, and again in blocks of one.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "core/numbers/wide_integer.hpp"
#include "core/type_rows.hpp"
#include "expr/columns.hpp"
#include "expr/evaluator.hpp"
#include "tests/expr/value_cases.hpp"
#include "tests/unwrap.hpp"

namespace garuda::expr {
namespace {

constexpr std::size_t kRows = 1'025;

std::string integer_text(Int128 value) {
  std::string digits;
  auto rest = value < 0 ? UInt128{0} - static_cast<UInt128>(value) : static_cast<UInt128>(value);
  do digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  while ((rest /= 10) != 0);
  return value < 0 ? "-" + digits : digits;
}

/// A value as the script shows DuckDB's: numbers in digits, floats by their bits, text in hexadecimal digits.
std::string shown(Vector const& vector, std::size_t i) {
  auto const at = i * vector.stride();
  if (vector.valid != nullptr && vector.valid[at] == 0) return "null";
  return with_kind(vector.kind, [&]<class Value>(Value) -> std::string {
    auto const value = vector.as<Value>()[at];
    if constexpr (std::is_same_v<Value, std::string_view>) {
      std::string text = "x";
      for (auto const c : value) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
      return text;
    } else if constexpr (std::is_floating_point_v<Value>) {
      return value != value ? "nan" : fmt::format("{:016x}", std::bit_cast<std::uint64_t>(static_cast<double>(value)));
    } else {
      return integer_text(static_cast<Int128>(value));
    }
  });
}

/// The values of all rows, by a program run on blocks of `block` rows.
std::vector<std::string> values_of(Program const& program, std::vector<ValueColumn> const& columns, std::size_t block) {
  Evaluator evaluator(program);
  std::vector<std::string> values;
  for (std::size_t first = 0; first < kRows; first += block) {
    auto const count = std::min(block, kRows - first);
    for (std::size_t c = 0; c < columns.size(); ++c) evaluator.inputs()[c] = columns[c].block(first);
    auto const result = testing::value_of(evaluator.run(count));
    for (std::size_t i = 0; i < count; ++i) values.push_back(shown(result, i));
  }
  return values;
}

int print_values() {
  auto const columns = value_columns(kRows);
  std::vector<DataType> types;
  types.reserve(columns.size());
  for (auto const& column : columns) types.push_back(column.type);
  for (auto const& column : columns) {
    fmt::print("column\t{}\t{}\n", column.name, column.sql_type);
    for (auto const& literal : column.literals) fmt::print("{}\n", literal);
  }
  for (auto const& value_case : value_cases(columns)) {
    auto const program = testing::value_of(compile(value_case.expression, types, Nulls::kept));
    auto const values = values_of(program, columns, kVectorRows);
    if (values != values_of(program, columns, 1)) {
      fmt::print(stderr, "blocks of one row give other values: {}\n", value_case.sql);
      return 1;
    }
    fmt::print("case\t{}\t{}\n", value_case.sql, to_string(value_case.expression.type));
    for (auto const& value : values) fmt::print("{}\n", value);
  }
  return 0;
}

}  // namespace
}  // namespace garuda::expr

int main() { return garuda::expr::print_values(); }
