// A typed expression as a program of steps over vectors, and the expression that it is made from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "expr/vector.hpp"
#include "garuda/condition.hpp"
#include "garuda/error.hpp"
#include "garuda/types.hpp"

namespace garuda::expr {

/// A call computes one of these of its arguments. Null arguments make null results, unless a line says otherwise.
enum class Function : std::uint8_t {
  compare,          ///< Two values of one type → boolean. -0.0 equals 0.0; NaNs are equal and the largest.
  all,              ///< Two booleans → boolean: `and`, false if either is false.
  any,              ///< Two booleans → boolean: `or`, true if either is true.
  negate,           ///< A boolean → boolean: `not`.
  is_null,          ///< A value → boolean, never null.
  is_true,          ///< A boolean → boolean, never null: false where it is null.
  select,           ///< A boolean and two values of one type: the first where the boolean is true, else the second.
  add,              ///< Two numbers of one type → that type, like the next six.
  subtract,         ///< The first less the second.
  multiply,         ///< The product.
  divide,           ///< Integers are cut towards zero.
  remainder,        ///< What divide leaves; it has the sign of the first argument.
  floor_divide,     ///< Integers and floats are rounded down.
  floor_remainder,  ///< What floor_divide leaves; it has the sign of the second argument.
  opposite,         ///< A number → that type: the number with the other sign.
  cast,  ///< A number or a boolean → another type, fractions cut towards zero; a date or a time ↔ its integer.
};

/// The treatment of an integer beyond its type, a quotient by zero, or a value that a cast cannot keep.
enum class OnFailure : std::uint8_t {
  error,  ///< The run ends with an error that names the expression.
  null,   ///< The result is null.
  wrap,   ///< Integers are taken modulo 2^bits; quotients by zero are null.
};

/// A constant: nothing is null.
using Scalar = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double>;

/// A typed tree. It is made by the functions below, which check it.
struct Expression {
  enum class Form : std::uint8_t { column, constant, call };

  Form form = Form::column;
  DataType type;
  std::size_t column = 0;  ///< A column is an input, by its position.
  std::string name;        ///< Errors name a column so.
  Scalar value;            ///< A constant has one.
  Function function = Function::compare;
  Comparator comparator = Comparator::equal;  ///< Function::compare has one.
  OnFailure on_failure = OnFailure::error;    ///< Arithmetic and casts have one.
  std::vector<Expression> arguments;
};

Expression column(std::size_t position, DataType type, std::string name);
/// Errors: usage, where the type cannot hold the value.
Result<Expression> constant(Scalar value, DataType type);
/// Errors: usage, where the function does not take so many arguments of such types.
Result<Expression> call(Function function, std::vector<Expression> arguments, OnFailure on_failure = OnFailure::error);
Result<Expression> compare(Expression first, Comparator comparator, Expression second);
Result<Expression> cast(Expression value, DataType to, OnFailure on_failure = OnFailure::error);
/// `(a + 1) < b`, as errors show it.
std::string to_string(Expression const& expression);

/// Registers of a program are its inputs, then its constants, then the results of its steps, in order.
using Register = std::uint16_t;
inline constexpr Register kNoRegister = 0xffff;

/// A step computes a vector of as many rows as the block has, or of one value where its operands are constants.
struct Step {
  Function function = Function::compare;
  Kind operands = Kind::boolean;  ///< Kind of the operands; Function::select has booleans before them.
  Kind result = Kind::boolean;
  Comparator comparator = Comparator::equal;
  OnFailure on_failure = OnFailure::error;
  bool null_is_false = false;  ///< The result of a comparison has no nulls.
  std::uint8_t bits = 64;      ///< Width of an integer result: 8, 16, 32 or 64.
  std::array<Register, 3> from{kNoRegister, kNoRegister, kNoRegister};
  Register guard = kNoRegister;  ///< Only rows for which this boolean is true can fail; kNoRegister: all can.
  std::uint32_t text = 0;        ///< Program::texts has what an error names.
};

struct ProgramConstant {
  Kind kind = Kind::boolean;
  bool is_null = false;
  alignas(Int128) std::array<std::uint64_t, 2> words{};  ///< The value's bytes come first.
  std::string bytes{};                                   ///< A value of Kind::bytes is here.
};

struct Program {
  std::vector<Kind> inputs;
  std::vector<ProgramConstant> constants;
  std::vector<Step> steps;
  std::vector<std::string> texts;
  Register result = 0;

  Register add_constant(ProgramConstant constant);
  Register add(Step step);
};

/// The meaning of null in the result of a boolean expression.
enum class Nulls : std::uint8_t {
  kept,
  false_,  ///< A filter or a condition takes rows that are true; the result has no nulls.
};

/// Makes the program of an expression over columns of the types `inputs`. Failures in arguments that a row does not
/// ask for (the second of `all` where the first is false, the choice that select does not take) do not count.
/// Errors: usage, for more than 65,000 parts.
Result<Program> compile(Expression const& expression, std::vector<DataType> const& inputs, Nulls nulls);

}  // namespace garuda::expr
