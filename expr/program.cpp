#include "expr/program.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "core/type_rows.hpp"

namespace garuda::expr {
namespace {

/// A function's row: how many arguments it takes, and how it is written.
struct FunctionRow {
  Function function;
  std::size_t arguments;
  std::string_view text;
  bool is_infix;
  bool takes_booleans;  ///< Its arguments are booleans.
  bool takes_numbers;   ///< Its arguments are numbers of one type, which its result has, too.
};

constexpr FunctionRow kFunctions[] = {
    {Function::compare, 2, "", true, false, false},
    {Function::all, 2, "and", true, true, false},
    {Function::any, 2, "or", true, true, false},
    {Function::negate, 1, "not", false, true, false},
    {Function::is_null, 1, "is_null", false, false, false},
    {Function::is_true, 1, "is_true", false, true, false},
    {Function::select, 3, "if", false, false, false},
    {Function::add, 2, "+", true, false, true},
    {Function::subtract, 2, "-", true, false, true},
    {Function::multiply, 2, "*", true, false, true},
    {Function::divide, 2, "/", true, false, true},
    {Function::remainder, 2, "%", true, false, true},
    {Function::floor_divide, 2, "//", true, false, true},
    {Function::floor_remainder, 2, "mod", true, false, true},
    {Function::opposite, 1, "-", false, false, true},
    {Function::cast, 1, "cast", false, false, false},
};

FunctionRow const& row_of(Function function) { return kFunctions[static_cast<std::size_t>(function)]; }

/// Whether arithmetic takes values of the type. Values of float16 are only read, compared and cast.
bool is_number(DataType const& type) {
  auto const& row = type_row(type.id);
  return row.family == TypeFamily::integer || (row.family == TypeFamily::floating && row.width > 2);
}

DataType boolean_type() { return DataType{TypeId::boolean}; }

Error not_taken(FunctionRow const& row, std::vector<Expression> const& arguments) {
  std::string types;
  for (auto const& argument : arguments)
    types += fmt::format("{}{}", types.empty() ? "" : ", ", to_string(argument.type));
  auto const name = row.function == Function::compare ? "a comparison" : fmt::format("'{}'", row.text);
  return {ErrorCode::usage, fmt::format("{} does not take {}", name, types.empty() ? "nothing" : types)};
}

/// The type of a call's result; nullopt: the function does not take these arguments.
std::optional<DataType> result_of(FunctionRow const& row, std::vector<Expression> const& arguments) {
  if (arguments.size() != row.arguments) return std::nullopt;
  for (auto const& argument : arguments) {
    if (!kind_of(argument.type)) return std::nullopt;
    if (row.takes_booleans && argument.type.id != TypeId::boolean) return std::nullopt;
    if (row.takes_numbers && !(is_number(argument.type) && argument.type == arguments.front().type))
      return std::nullopt;
  }
  switch (row.function) {
    case Function::compare:
      return arguments[0].type == arguments[1].type ? std::optional(boolean_type()) : std::nullopt;
    case Function::select:
      if (arguments[0].type.id != TypeId::boolean || !(arguments[1].type == arguments[2].type)) return std::nullopt;
      return arguments[1].type;
    case Function::is_null:
      return boolean_type();
    default:
      return row.takes_booleans ? boolean_type() : arguments.front().type;
  }
}

template <class Integer>
bool fits(Integer value, DataType const& type) {
  auto const& row = type_row(type.id);
  auto const bits = row.width * 8;
  if (row.is_signed) {
    auto const most = std::numeric_limits<std::int64_t>::max() >> (64 - bits);
    return std::in_range<std::int64_t>(value) && static_cast<std::int64_t>(value) <= most &&
           static_cast<std::int64_t>(value) >= -most - 1;
  }
  return std::in_range<std::uint64_t>(value) &&
         static_cast<std::uint64_t>(value) <= std::numeric_limits<std::uint64_t>::max() >> (64 - bits);
}

/// Whether a column of the type can hold the value.
bool holds_value(DataType const& type, Scalar const& value) {
  auto const family = type_row(type.id).family;
  return std::visit(
      [&]<class T>(T held) {
        if constexpr (std::is_same_v<T, std::monostate>)
          return true;
        else if constexpr (std::is_same_v<T, bool>)
          return family == TypeFamily::boolean;
        else if constexpr (std::is_same_v<T, double>)
          return family == TypeFamily::floating;
        else
          return (family == TypeFamily::integer || family == TypeFamily::temporal) && fits(held, type);
      },
      value);
}

/// Numbers and booleans become each other; dates and times are the integers that they are stored as.
bool can_be_cast(DataType const& from, DataType const& to) {
  if (!kind_of(from) || !kind_of(to)) return false;
  auto const is_plain = [](DataType const& type) { return is_number(type) || type.id == TypeId::boolean; };
  if (from == to || (is_plain(from) && is_plain(to))) return true;
  auto const is_stored_as = [](DataType const& time, DataType const& integer) {
    return type_row(time.id).family == TypeFamily::temporal &&
           integer.id == (type_row(time.id).width == 8 ? TypeId::int64 : TypeId::int32);
  };
  return is_stored_as(from, to) || is_stored_as(to, from);
}

std::string text_of(Scalar const& value) {
  return std::visit(
      []<class T>(T held) {
        if constexpr (std::is_same_v<T, std::monostate>)
          return std::string("null");
        else
          return fmt::format("{}", held);
      },
      value);
}

constexpr std::size_t kMostRegisters = 65'000;

bool is_arithmetic(Function function) { return function >= Function::add && function <= Function::cast; }

/// Whether a row can end the run.
bool can_fail(Expression const& expression) {
  if (expression.form != Expression::Form::call) return false;
  if (is_arithmetic(expression.function) && expression.on_failure == OnFailure::error) return true;
  for (auto const& argument : expression.arguments)
    if (can_fail(argument)) return true;
  return false;
}

ProgramConstant constant_of(Scalar const& value, Kind kind) {
  ProgramConstant made{kind, std::holds_alternative<std::monostate>(value), {}, {}};
  with_kind(kind, [&]<class T>(T) {
    std::visit(
        [&]<class Value>(Value const& from) {
          if constexpr (std::is_convertible_v<Value, T> && !std::is_same_v<T, std::string_view>) {
            auto const held = static_cast<T>(from);
            std::memcpy(made.words.data(), &held, sizeof(held));
          }
        },
        value);
  });
  return made;
}

class Compiler {
 public:
  explicit Compiler(std::vector<DataType> const& inputs) {
    for (auto const& type : inputs) program_.inputs.push_back(kind_of(type).value_or(Kind::boolean));
  }

  Program run(Expression const& expression, Nulls nulls) {
    collect_constants(expression);
    program_.result = nulls == Nulls::kept ? value(expression) : truth(expression);
    return std::move(program_);
  }

 private:
  /// Registers of constants come before those of steps, so that all are known first.
  void collect_constants(Expression const& expression) {
    if (expression.form == Expression::Form::constant) {
      program_.add_constant(constant_of(expression.value, *kind_of(expression.type)));
    }
    for (auto const& argument : expression.arguments) collect_constants(argument);
  }

  Register value(Expression const& expression) {
    switch (expression.form) {
      case Expression::Form::column:
        return static_cast<Register>(expression.column);
      case Expression::Form::constant:
        return static_cast<Register>(program_.inputs.size() + next_constant_++);
      case Expression::Form::call:
        break;
    }
    return add_call(expression, [&](Expression const& argument) { return value(argument); });
  }

  /// The register of a boolean whose nulls count as false.
  Register truth(Expression const& expression) {
    bool const is_call = expression.form == Expression::Form::call;
    if (is_call && (expression.function == Function::all || expression.function == Function::any))
      return add_call(expression, [&](Expression const& argument) { return truth(argument); });
    auto const result = value(expression);
    if (!is_call || expression.function != Function::compare) return is_true(result);
    program_.steps.back().null_is_false = true;
    return result;
  }

  template <class Part>
  Register add_call(Expression const& expression, Part const& part) {
    auto const& arguments = expression.arguments;
    Step step;
    step.function = expression.function;
    step.operands = *kind_of(arguments.back().type);
    step.result = *kind_of(expression.type);
    step.comparator = expression.comparator;
    step.on_failure = expression.on_failure;
    if (auto const width = type_row(expression.type.id).width; width > 0)
      step.bits = static_cast<std::uint8_t>(width * 8);
    step.from[0] = part(arguments[0]);
    auto const outer = guard_;
    for (std::size_t i = 1; i < arguments.size(); ++i) {
      if (can_fail(arguments[i])) guard_ = guard_of(expression.function, i, step.from[0], outer);
      step.from[i] = part(arguments[i]);
      guard_ = outer;
    }
    step.guard = guard_;
    if (is_arithmetic(expression.function)) {
      step.text = static_cast<std::uint32_t>(program_.texts.size());
      program_.texts.push_back(to_string(expression));
    }
    return program_.add(step);
  }

  /// The rows that ask for argument `i` of a call, by what its first argument is.
  Register guard_of(Function function, std::size_t i, Register first, Register outer) {
    auto asked = kNoRegister;
    if (function == Function::all)
      asked = is_not_true(add_boolean(Function::negate, first));
    else if (function == Function::any || (function == Function::select && i == 2))
      asked = is_not_true(first);
    else if (function == Function::select)
      asked = is_true(first);
    if (asked == kNoRegister || outer == kNoRegister) return asked == kNoRegister ? outer : asked;
    return add_boolean(Function::all, outer, asked);
  }

  Register is_true(Register value) { return add_boolean(Function::is_true, value); }
  Register is_not_true(Register value) { return add_boolean(Function::negate, is_true(value)); }
  Register add_boolean(Function function, Register first, Register second = kNoRegister) {
    Step step;
    step.function = function;
    step.from = {first, second, kNoRegister};
    return program_.add(step);
  }

  Program program_;
  std::size_t next_constant_ = 0;
  Register guard_ = kNoRegister;
};

std::size_t size_of(Expression const& expression) {
  std::size_t size = 1;
  for (auto const& argument : expression.arguments) size += size_of(argument);
  return size;
}

Result<void> check_columns(Expression const& expression, std::vector<DataType> const& inputs) {
  if (expression.form == Expression::Form::column &&
      (expression.column >= inputs.size() || !(inputs[expression.column] == expression.type) ||
       !kind_of(expression.type)))
    return fail(ErrorCode::usage, fmt::format("an expression cannot compute with column '{}' of {}", expression.name,
                                              to_string(expression.type)));
  for (auto const& argument : expression.arguments) GARUDA_TRY(check_columns(argument, inputs));
  return {};
}

}  // namespace

std::optional<Kind> kind_of(DataType const& type) noexcept {
  auto const& row = type_row(type.id);
  switch (row.family) {
    case TypeFamily::boolean:
      return Kind::boolean;
    case TypeFamily::integer:
    case TypeFamily::temporal:
      if (row.width == 8) return row.is_signed ? Kind::int64 : Kind::uint64;
      return row.is_signed ? Kind::int32 : Kind::uint32;
    case TypeFamily::floating:
      return row.width <= 4 ? Kind::float32 : Kind::float64;
    case TypeFamily::decimal:
      return row.width <= 16 ? std::optional(Kind::int128) : std::nullopt;
    case TypeFamily::bytes:
      return Kind::bytes;
    case TypeFamily::dictionary:
      return kind_of(*type.value);
    default:
      return std::nullopt;
  }
}

Expression column(std::size_t position, DataType type, std::string name) {
  Expression made;
  made.type = std::move(type);
  made.column = position;
  made.name = std::move(name);
  return made;
}

Result<Expression> constant(Scalar value, DataType type) {
  if (!kind_of(type) || !holds_value(type, value))
    return fail(ErrorCode::usage, fmt::format("a value of {} is not {}", to_string(type), text_of(value)));
  Expression made;
  made.form = Expression::Form::constant;
  made.type = std::move(type);
  made.value = value;
  return made;
}

Result<Expression> call(Function function, std::vector<Expression> arguments, OnFailure on_failure) {
  auto const& row = row_of(function);
  auto type = function == Function::cast ? std::nullopt : result_of(row, arguments);
  if (!type) return tl::unexpected(not_taken(row, arguments));
  Expression made;
  made.form = Expression::Form::call;
  made.type = std::move(*type);
  made.function = function;
  made.on_failure = on_failure;
  made.arguments = std::move(arguments);
  return made;
}

Result<Expression> compare(Expression first, Comparator comparator, Expression second) {
  std::vector<Expression> arguments;
  arguments.push_back(std::move(first));
  arguments.push_back(std::move(second));
  GARUDA_TRY_ASSIGN(auto made, call(Function::compare, std::move(arguments)));
  made.comparator = comparator;
  return made;
}

Result<Expression> cast(Expression value, DataType to, OnFailure on_failure) {
  if (!can_be_cast(value.type, to))
    return fail(ErrorCode::usage, fmt::format("{} cannot be cast to {}", to_string(value.type), to_string(to)));
  Expression made;
  made.form = Expression::Form::call;
  made.type = std::move(to);
  made.function = Function::cast;
  made.on_failure = on_failure;
  made.arguments.push_back(std::move(value));
  return made;
}

std::string to_string(Expression const& expression) {
  if (expression.form == Expression::Form::column) return expression.name;
  if (expression.form == Expression::Form::constant) return text_of(expression.value);
  auto const& row = row_of(expression.function);
  auto const& arguments = expression.arguments;
  if (row.is_infix) {
    auto const sign = expression.function == Function::compare ? to_string(expression.comparator) : row.text;
    return fmt::format("({} {} {})", to_string(arguments[0]), sign, to_string(arguments[1]));
  }
  std::string inside;
  for (auto const& argument : arguments) inside += fmt::format("{}{}", inside.empty() ? "" : ", ", to_string(argument));
  if (expression.function == Function::cast) inside += fmt::format(" as {}", to_string(expression.type));
  return fmt::format("{}({})", row.text, inside);
}

Register Program::add_constant(ProgramConstant constant) {
  GARUDA_EXPECTS(steps.empty());
  constants.push_back(std::move(constant));
  return static_cast<Register>(inputs.size() + constants.size() - 1);
}

Register Program::add(Step step) {
  steps.push_back(step);
  return static_cast<Register>(inputs.size() + constants.size() + steps.size() - 1);
}

Result<Program> compile(Expression const& expression, std::vector<DataType> const& inputs, Nulls nulls) {
  GARUDA_TRY(check_columns(expression, inputs));
  if (nulls == Nulls::false_ && expression.type.id != TypeId::boolean)
    return fail(ErrorCode::usage,
                fmt::format("a condition is boolean, not {}: {}", to_string(expression.type), to_string(expression)));
  // Guards take up to four steps beside the part that they guard.
  if (auto const size = size_of(expression); (size * 5) + inputs.size() > kMostRegisters)
    return fail(ErrorCode::usage, fmt::format("an expression has too many parts: {}", size));
  return Compiler(inputs).run(expression, nulls);
}

}  // namespace garuda::expr
