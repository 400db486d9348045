// A table of edge values and expressions over it, each with the SQL that DuckDB has for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "expr/program.hpp"
#include "expr/vector.hpp"

namespace garuda::expr {

/// A column of edge values that repeat, so that two columns of a type meet in all pairs.
struct ValueColumn {
  std::string name;
  DataType type;
  std::string sql_type;
  std::vector<std::string> literals;  ///< of each row, in SQL
  Kind kind = Kind::boolean;
  std::vector<Int128> memory;  ///< values of each row, side by side
  std::vector<std::uint8_t> valid;
  std::vector<std::string> strings;

  /// The rows from `first` on.
  Vector block(std::size_t first) const;
};

std::vector<ValueColumn> value_columns(std::size_t rows);

struct ValueCase {
  std::string sql;
  Expression expression;
};

std::vector<ValueCase> value_cases(std::vector<ValueColumn> const& columns);

}  // namespace garuda::expr
