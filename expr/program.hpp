// A typed expression as a program of steps over vectors, and the expression that it is made from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "expr/vector.hpp"
#include "garuda/condition.hpp"
#include "garuda/error.hpp"
#include "garuda/types.hpp"

namespace garuda::expr {

/// A call computes one of these of its arguments. Null arguments make null results, unless a line says otherwise.
/// `Text` is a string of any layout; positions and lengths count its code points.
enum class Function : std::uint8_t {
  compare,  ///< Two values of one type → boolean. -0.0 equals 0.0; NaNs are equal and the largest. Scales may differ.
  all,      ///< Two booleans → boolean: `and`, false if either is false.
  any,      ///< Two booleans → boolean: `or`, true if either is true.
  negate,   ///< A boolean → boolean: `not`.
  is_null,  ///< A value → boolean, never null.
  is_true,  ///< A boolean → boolean, never null: false where it is null.
  select,   ///< A boolean and two values of one type: the first where the boolean is true, else the second.
  coalesce,  ///< Values of one type: the first that is not null.
  least,     ///< Values of one type: the least in the order of compare, nulls left out.
  greatest,  ///< Values of one type: the greatest, nulls left out.
  in,        ///< A value and constants of its type → boolean: null where none is equal and one is null.
  add,  ///< Two numbers of one type → that type, like the next six; two decimals → the decimal that is asked for,
        ///< exact and then rounded to its scale, halves away from zero.
  subtract,         ///< The first less the second.
  multiply,         ///< The product.
  divide,           ///< Integers are cut towards zero.
  remainder,        ///< What divide, cut towards zero, leaves; it has the sign of the first argument.
  floor_divide,     ///< Integers, floats and decimals are rounded down.
  floor_remainder,  ///< What floor_divide leaves; it has the sign of the second argument.
  opposite,         ///< A number → that type: the number with the other sign.
  absolute,         ///< A number → that type: without its sign.
  round,  ///< A number and, as a constant, how many digits after the point to keep, which may be negative: halves are
          ///< rounded away from zero. A float is multiplied by the power of ten, rounded, and divided.
  floor,  ///< A number → the greatest whole one that is not above it.
  ceil,   ///< A number → the least whole one that is not below it.
  cast,  ///< A value → another type (cast() has the pairs). Fractions are cut towards zero where integers are made, and
         ///< rounded, halves away from zero, where decimals are; times are cut to the earlier one.
  like,  ///< A text, a constant pattern and perhaps a constant escape character → boolean: `%` stands for any text,
         ///< `_` for a code point.
  starts_with,     ///< Two texts or two binaries → boolean, by bytes.
  ends_with,       ///< Two texts or two binaries → boolean, by bytes.
  contains,        ///< Two texts or two binaries → boolean, by bytes.
  regexp_matches,  ///< A text and a constant pattern of RE2 → boolean: some part of the text matches.
  regexp_replace,  ///< A text, a pattern and a constant replacement (`\1`: the first group) → text: the first match
                   ///< replaced.
  regexp_replace_all,  ///< The text with all matches replaced.
  substring,  ///< A text, an int64 position, from 1 on, and perhaps an int64 length → text. Places before 1 count, and
              ///< hold nothing. A negative length has no result.
  length,        ///< A text → int64: its code points.
  octet_length,  ///< A text or binary → int64: its bytes.
  upper,         ///< A text → text, by utf8proc's simple case mapping.
  lower,         ///< A text → text, likewise.
  trim,          ///< A text and perhaps one of characters to take off both ends, else spaces → text.
  trim_left,     ///< Off the beginning.
  trim_right,    ///< Off the end.
  concat,        ///< Texts or binaries → their bytes after each other.
  extract,       ///< A field of a date, a time of day or a timestamp → int64; TimeField::epoch → float64.
  truncate,      ///< A date, a time of day or a timestamp → that type: the beginning of the field's unit.
  add_interval,  ///< A date or timestamp and three int64 constants, months, days and microseconds → that type. Months
                 ///< come first, and end at the last day of a shorter month; parts below a date's day are cut.
};

/// A part of a date or a time. Weeks are those of ISO 8601 and begin on Monday.
enum class TimeField : std::uint8_t {
  year,
  iso_year,  ///< The year that the week belongs to.
  quarter,
  month,
  week,
  day,
  day_of_year,
  day_of_week,      ///< 0 for Sunday to 6.
  iso_day_of_week,  ///< 1 for Monday to 7.
  hour,
  minute,
  second,
  millisecond,  ///< The next two and this one count within the minute.
  microsecond,
  nanosecond,
  epoch,  ///< Seconds since 1970, with their fraction.
};
std::string_view to_string(TimeField field) noexcept;
/// Returns the field of that name, in lower case (`year`, `day_of_week`); nullopt: there is none.
std::optional<TimeField> parse_time_field(std::string_view text) noexcept;

/// The treatment of a number beyond its type, a quotient by zero, or a value that a cast cannot keep.
enum class OnFailure : std::uint8_t {
  error,  ///< The run ends with an error that names the expression.
  null,   ///< The result is null.
  wrap,   ///< Integers are taken modulo 2^bits; where there is no such value, the result is null.
};

/// A constant: nothing is null. Decimals are the integers that they are stored as.
using Scalar = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, Int128, std::string>;

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
  TimeField field = TimeField::year;          ///< Function::extract and truncate have one.
  OnFailure on_failure = OnFailure::error;    ///< Functions that can have no value for a row have one.
  std::vector<Expression> arguments;
};

/// A column of a dictionary type is one of its values.
Expression column(std::size_t position, DataType type, std::string name);
/// Errors: usage, where the type cannot hold the value.
Result<Expression> constant(Scalar value, DataType type);
/// `result`: the type of arithmetic of decimals, or of a decimal that is rounded; other calls have one type, which may
/// be left out. Errors: usage, where the function does not take so many arguments of such types.
Result<Expression> call(Function function, std::vector<Expression> arguments, OnFailure on_failure = OnFailure::error,
                        std::optional<DataType> const& result = std::nullopt);
Result<Expression> compare(Expression first, Comparator comparator, Expression second);
/// Function::extract. Errors: usage, also where a timestamp has another zone than UTC.
Result<Expression> extract(TimeField field, Expression value);
/// Function::truncate, to years, quarters, months, weeks, days, or a unit below them. Errors: as above.
Result<Expression> truncate(TimeField field, Expression value, OnFailure on_failure = OnFailure::error);
/// Numbers, decimals and booleans become each other. Text becomes any of them, a date, a time or a timestamp, and these
/// text. Dates and timestamps become each other, timestamps times of day; units and scales change. Dates, times,
/// timestamps and durations become the integer that they are stored as, and it them. Binary that is UTF-8 becomes text.
Result<Expression> cast(Expression value, DataType to, OnFailure on_failure = OnFailure::error);
/// Whether a row can end the run of an expression.
bool can_fail(Expression const& expression) noexcept;
/// The operands of an `and` of any depth, in their order; an expression that is none is its only one.
std::vector<Expression> conjuncts(Expression const& expression);
/// `(a + 1) < b`, as errors show it.
std::string to_string(Expression const& expression);
/// Calls visit(position) for every column that the expression reads, as often as it does; the position of one that is
/// not const may be changed.
template <class Tree, class Visit>
void visit_columns(Tree& expression, Visit const& visit) {
  if (expression.form == Expression::Form::column) visit(expression.column);
  for (auto& argument : expression.arguments) visit_columns(argument, visit);
}

/// Registers of a program are its inputs, then its constants, then the results of its steps, in order.
using Register = std::uint16_t;
inline constexpr Register kNoRegister = 0xffff;

class LikePattern;
class Regexp;
class ValueSet;

/// Constants and types of a step. Patterns and sets are shared: programs are copied, and every evaluator reads them.
struct StepDetail {
  std::array<DataType, 2> operands;         ///< Types of the first two operands.
  DataType result;                          ///< Type of the result.
  TimeField field = TimeField::year;        ///< Function::extract and truncate have one.
  std::array<std::int64_t, 3> numbers{};    ///< Digits of round; months, days and microseconds of an interval.
  std::shared_ptr<LikePattern const> like;  ///< Function::like has one.
  std::shared_ptr<Regexp const> regexp;     ///< Functions of patterns of RE2 have one.
  std::shared_ptr<ValueSet const> set;      ///< Function::in has one.
};
inline constexpr std::uint32_t kNoDetail = 0xffff'ffff;

/// A step computes a vector of as many rows as the block has, or of one value where its operands are constants.
struct Step {
  Function function = Function::compare;
  Kind operands = Kind::boolean;  ///< Kind of the first operand; Function::select has booleans before it.
  Kind result = Kind::boolean;
  Comparator comparator = Comparator::equal;
  OnFailure on_failure = OnFailure::error;
  bool null_is_false = false;  ///< The result of a comparison has no nulls.
  std::uint8_t bits = 64;      ///< Width of an integer result: 8, 16, 32 or 64.
  std::array<Register, 3> from{kNoRegister, kNoRegister, kNoRegister};
  Register guard = kNoRegister;      ///< Only rows for which this boolean is true can fail; kNoRegister: all can.
  std::uint32_t text = 0;            ///< Program::texts has what an error names.
  std::uint32_t detail = kNoDetail;  ///< Program::details has it.
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
  std::vector<StepDetail> details;
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
/// Errors: usage, for more than 65,000 parts; invalid_input, for a pattern that is none.
Result<Program> compile(Expression const& expression, std::vector<DataType> const& inputs, Nulls nulls);

}  // namespace garuda::expr
