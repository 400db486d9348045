// Scalar expressions as they are written: columns, constants, and functions by name, without types of their own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "garuda/types.hpp"

namespace garuda {

/// A constant of a type.
struct Literal {
  DataType type;
  /// The alternative fits the type: bool booleans; int64 signed integers, dates, times, timestamps and durations, as
  /// they are stored; uint64 unsigned integers; double floats; two words, low one first, decimals of at most 128 bits;
  /// std::string strings and binary; std::monostate null of any type.
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::array<std::uint64_t, 2>, std::string>
      value;
};

/// A tree that gives one value a row. Types follow from its columns when a query is run: the arguments of a function
/// are widened to a type that it takes for all of them, as SQL has it.
struct ScalarExpression {
  enum class Form : std::uint8_t { column, position, literal, call, cast };

  Form form = Form::column;
  std::string name;          ///< Form::column: of the input; Form::call: of the function
  std::size_t position = 0;  ///< Form::position: in the input's columns
  Literal literal;           ///< Form::literal
  /// Form::cast: the type of the result; Form::call: the type of arithmetic of decimals, where another than the
  /// smallest that holds the exact result is wanted.
  std::optional<DataType> type;
  /// Form::cast and Form::call: a value that cannot be cast, an overflow or a quotient by zero becomes null; else it is
  /// an error.
  bool null_on_failure = false;
  std::vector<ScalarExpression> arguments;
};

/// A column of the input by its name, or by its position.
ScalarExpression column(std::string name);
ScalarExpression column(std::size_t position);
ScalarExpression literal(bool value);
ScalarExpression literal(std::int64_t value);
ScalarExpression literal(double value);
ScalarExpression literal(std::string value);
ScalarExpression literal(Literal value);
/// A call of a function by its name, as docs/using/queries.md lists them: add, equal, and, like, substring, … Fields of
/// `extract` and `date_trunc` are constants: call("extract", {literal("year"), column("day")}).
ScalarExpression call(std::string function, std::vector<ScalarExpression> arguments);
ScalarExpression cast(ScalarExpression value, DataType type, bool null_on_failure = false);

/// `(a + 1) < b`, as plans and errors show it.
std::string to_string(ScalarExpression const& expression);

}  // namespace garuda
