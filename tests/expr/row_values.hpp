// Values of single rows, computed plainly: the oracle of expressions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/numbers/wide_integer.hpp"
#include "expr/program.hpp"

namespace garuda::expr {

/// A value of a row: an integer (booleans are 0 and 1, decimals, dates and times what they are stored as), a float, or
/// a text.
struct Cell {
  bool is_null = false;
  Int128 integer = 0;
  double real = 0;
  std::string text{};
  bool is_lost = false;  ///< The value could not be computed; an expression that reads it fails.
};

/// A row that has no value though it must.
struct Failure {};

/// The cell of a row without a value: null, or Failure is thrown.
Cell lost(OnFailure on_failure);

bool is_float(DataType const& type);
bool is_decimal_type(DataType const& type);

/// The order of two values of one type, or of two decimals: negative, 0 or positive.
int order_of(DataType const& a_type, Cell const& a, DataType const& b_type, Cell const& b);

/// Arithmetic and rounding of decimals. Arguments are not null.
Cell decimal_value(Expression const& expression, Cell const& a, Cell const& b);
/// A number, a boolean or a decimal as a decimal; nullopt: it is beyond the type.
std::optional<Int128> to_decimal(Cell const& from, DataType const& from_type, DataType const& type);
/// A decimal cut to an integer.
Int128 cut_decimal(Int128 value, std::int32_t scale);
std::string decimal_digits(Int128 value, std::int32_t scale);
std::optional<Int128> read_decimal_digits(std::string const& text, DataType const& type);

/// Functions of texts. Arguments are not null.
Cell text_value(Expression const& expression, Cell const& a, Cell const& b, Cell const& c);
/// Spaces around do not count.
std::string without_outer_spaces(std::string const& text);

/// Fields, truncation and intervals.
Cell time_value(Expression const& expression, Cell const& a);
/// A date or a timestamp as the other, or as text.
std::optional<Int128> to_time(Cell const& from, DataType const& from_type, DataType const& type);
std::string time_digits(Int128 value, DataType const& type);
std::optional<Int128> read_time_digits(std::string const& text, DataType const& type);

}  // namespace garuda::expr
