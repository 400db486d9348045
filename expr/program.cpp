#include "expr/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "core/numbers/wide_integer.hpp"
#include "core/type_rows.hpp"
#include "expr/functions/function_rows.hpp"
#include "expr/functions/patterns.hpp"
#include "expr/functions/value_set.hpp"
#include "expr/functions/value_text.hpp"
#include "expr/functions/wide_decimal.hpp"

namespace garuda::expr {
namespace {

Error not_taken(FunctionRow const& row, std::vector<Expression> const& arguments) {
  std::string types;
  for (auto const& argument : arguments)
    types += fmt::format("{}{}", types.empty() ? "" : ", ", to_string(argument.type));
  auto const name = row.function == Function::compare ? "a comparison" : fmt::format("'{}'", row.text);
  bool const has_constants = row.constants_from < arguments.size();
  return {ErrorCode::usage,
          fmt::format("{} does not take {}{}", name, types.empty() ? "nothing" : types,
                      has_constants ? fmt::format(" (the arguments after the first are constants)") : "")};
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
      [&]<class T>(T const& held) {
        if constexpr (std::is_same_v<T, std::monostate>)
          return true;
        else if constexpr (std::is_same_v<T, bool>)
          return family == TypeFamily::boolean;
        else if constexpr (std::is_same_v<T, double>)
          return family == TypeFamily::floating;
        else if constexpr (std::is_same_v<T, std::string>)
          return family == TypeFamily::bytes &&
                 (type.id != TypeId::fixed_size_binary || std::cmp_equal(held.size(), type.fixed_byte_width));
        else if constexpr (std::is_same_v<T, Int128>)
          return family == TypeFamily::decimal && has_digits(held, power_of_ten(type.precision));
        else
          return (family == TypeFamily::integer || family == TypeFamily::temporal) && fits(held, type);
      },
      value);
}

std::string text_of(Scalar const& value, DataType const& type) {
  return std::visit(
      [&]<class T>(T const& held) {
        if constexpr (std::is_same_v<T, std::monostate>)
          return std::string("null");
        else if constexpr (std::is_same_v<T, std::string>)
          return fmt::format("'{}'", held);
        else if constexpr (std::is_same_v<T, Int128>) {
          char text[kMostNumberBytes];
          return std::string(
              text, write_decimal(held, type_row(type.id).family == TypeFamily::decimal ? type.scale : 0, text));
        } else
          return fmt::format("{}", held);
      },
      value);
}

constexpr std::size_t kMostRegisters = 65'000;
constexpr std::int64_t kMostRoundedDigits = 1'000;

bool is_partial(Function function) { return function_row(function).effect == RowEffect::partial; }

/// Whether every value of a number, a boolean or a text has one of the other type.
bool always_casts(DataType const& from, DataType const& to) {
  auto const& source = type_row(from.id);
  auto const& target = type_row(to.id);
  bool const is_whole = source.family == TypeFamily::boolean || source.family == TypeFamily::integer;
  bool const is_decimal = source.family == TypeFamily::decimal;
  if (target.family == TypeFamily::floating) return is_whole || is_decimal || source.family == TypeFamily::floating;
  if (is_text(to.id)) return source.family != TypeFamily::bytes || is_text(from.id);
  auto const digits = source.family == TypeFamily::boolean ? 1 : source.digits;
  if (target.family == TypeFamily::decimal)
    return (is_whole && digits <= to.precision - to.scale) ||
           (is_decimal && from.scale <= to.scale && from.precision - from.scale <= to.precision - to.scale);
  if (target.family != TypeFamily::integer || !is_whole) return false;
  if (source.family == TypeFamily::boolean) return true;
  return source.is_signed == target.is_signed ? source.width <= target.width
                                              : !source.is_signed && source.width < target.width;
}

/// Whether a call of a function that can have no value has one for all values of its arguments' types.
bool is_total(Expression const& expression) {
  auto const& from = expression.arguments[0].type;
  if (expression.function == Function::cast) return always_casts(from, expression.type);
  bool const is_arithmetic = expression.function >= Function::add && expression.function < Function::cast;
  return is_arithmetic && type_row(expression.type.id).family == TypeFamily::floating;
}

ProgramConstant constant_of(Scalar const& value, Kind kind) {
  ProgramConstant made{kind, std::holds_alternative<std::monostate>(value), {}, {}};
  if (auto const* const bytes = std::get_if<std::string>(&value)) made.bytes = *bytes;
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

  Result<Program> run(Expression const& expression, Nulls nulls) {
    collect_constants(expression);
    program_.result = nulls == Nulls::kept ? value(expression) : truth(expression);
    if (error_) return tl::unexpected<Error>(*error_);
    return std::move(program_);
  }

 private:
  /// Registers of constants come before those of steps, so that all are known first.
  void collect_constants(Expression const& expression) {
    if (expression.form == Expression::Form::constant)
      program_.add_constant(constant_of(expression.value, *kind_of(expression.type)));
    auto const& arguments = expression.arguments;
    auto const operands = num_operands_of(function_row(expression.function), arguments.size());
    for (std::size_t i = 0; i < operands; ++i) collect_constants(arguments[i]);
  }

  Register value(Expression const& expression) {
    switch (expression.form) {
      case Expression::Form::column:
        return static_cast<Register>(expression.column);
      case Expression::Form::constant:
        return static_cast<Register>(program_.inputs.size() + next_constant_++);
      case Expression::Form::call:
        if (expression.function == Function::is_true) return truth(expression.arguments[0]);
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
    auto const& row = function_row(expression.function);
    auto const& arguments = expression.arguments;
    if (row.form == CallForm::chain) return add_chain(expression);
    auto step = step_of(expression);
    auto const outer = guard_;
    for (std::size_t i = 0; i < num_operands_of(row, arguments.size()); ++i) {
      if (i > 0 && can_fail(arguments[i])) guard_ = guard_of(expression.function, i, step.from[0], outer);
      step.from[i] = part(arguments[i]);
      guard_ = outer;
    }
    return program_.add(step);
  }

  /// A step for the first two arguments, one for its result and the third, and so on.
  Register add_chain(Expression const& expression) {
    auto const outer = guard_;
    auto result = value(expression.arguments.front());
    for (std::size_t i = 1; i < expression.arguments.size(); ++i) {
      auto const& argument = expression.arguments[i];
      if (can_fail(argument)) guard_ = guard_of(expression.function, i, result, outer);
      auto step = step_of(expression);
      step.from[0] = result;
      step.from[1] = value(argument);
      guard_ = outer;
      result = program_.add(step);
    }
    return result;
  }

  /// The step of a call, without its operands.
  Step step_of(Expression const& expression) {
    auto const& arguments = expression.arguments;
    Step step;
    step.function = expression.function;
    step.operands = *kind_of(arguments[expression.function == Function::select ? 1 : 0].type);
    step.result = *kind_of(expression.type);
    step.comparator = expression.comparator;
    step.on_failure = expression.on_failure;
    step.guard = guard_;
    if (auto const width = type_row(expression.type.id).width; width > 0)
      step.bits = static_cast<std::uint8_t>(width * 8);
    if (is_partial(expression.function)) {
      step.text = static_cast<std::uint32_t>(program_.texts.size());
      program_.texts.push_back(to_string(expression));
    }
    bool const computes = expression.function >= Function::add || expression.function == Function::in;
    if (computes || step.operands == Kind::int128) {
      step.detail = static_cast<std::uint32_t>(program_.details.size());
      program_.details.push_back(detail_of(expression));
    }
    return step;
  }

  StepDetail detail_of(Expression const& expression) {
    auto const& arguments = expression.arguments;
    StepDetail detail;
    detail.result = expression.type;
    detail.field = expression.field;
    for (std::size_t i = 0; i < std::min(arguments.size(), detail.operands.size()); ++i)
      detail.operands[i] = arguments[i].type;
    auto const first = function_row(expression.function).constants_from;
    auto const text_at = [&](std::size_t i) {
      auto const* const text = i < arguments.size() ? std::get_if<std::string>(&arguments[i].value) : nullptr;
      return text == nullptr ? std::string() : *text;
    };
    switch (expression.function) {
      case Function::like:
        keep(LikePattern::compile(text_at(1), text_at(2)), detail.like);
        break;
      case Function::regexp_matches:
      case Function::regexp_replace:
      case Function::regexp_replace_all:
        keep(Regexp::compile(text_at(1), text_at(2)), detail.regexp);
        break;
      case Function::in: {
        std::vector<ProgramConstant> constants;
        for (auto i = first; i < arguments.size(); ++i)
          constants.push_back(constant_of(arguments[i].value, *kind_of(arguments[i].type)));
        detail.set = std::make_shared<ValueSet const>(*kind_of(arguments[0].type), constants);
        break;
      }
      default:
        for (auto i = first; i < arguments.size() && i - first < detail.numbers.size(); ++i)
          if (auto const* const number = std::get_if<std::int64_t>(&arguments[i].value))
            detail.numbers[i - first] = *number;
        // More digits than any number has are as good as all of them.
        if (expression.function == Function::round)
          detail.numbers[0] = std::clamp<std::int64_t>(detail.numbers[0], -kMostRoundedDigits, kMostRoundedDigits);
    }
    return detail;
  }

  template <class Pattern>
  void keep(Result<std::shared_ptr<Pattern const>> compiled, std::shared_ptr<Pattern const>& to) {
    if (compiled)
      to = std::move(*compiled);
    else
      error_ = std::move(compiled.error());
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
    else if (function == Function::coalesce)
      asked = add_boolean(Function::is_null, first);
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
  std::optional<Error> error_;  // of a pattern
};

std::size_t size_of(Expression const& expression) {
  std::size_t size = 1;
  for (auto const& argument : expression.arguments) size += size_of(argument);
  return size;
}

Result<void> check_columns(Expression const& expression, std::vector<DataType> const& inputs) {
  if (expression.form == Expression::Form::column &&
      (expression.column >= inputs.size() || !(value_type(inputs[expression.column]) == expression.type) ||
       !kind_of(expression.type)))
    return fail(ErrorCode::usage, fmt::format("an expression cannot compute with column '{}' of {}", expression.name,
                                              to_string(expression.type)));
  for (auto const& argument : expression.arguments) GARUDA_TRY(check_columns(argument, inputs));
  return {};
}

constexpr std::string_view kTimeFields[] = {"year",   "iso_year",    "quarter",     "month",           "week",
                                            "day",    "day_of_year", "day_of_week", "iso_day_of_week", "hour",
                                            "minute", "second",      "millisecond", "microsecond",     "nanosecond",
                                            "epoch"};

}  // namespace

std::string_view to_string(TimeField field) noexcept { return kTimeFields[static_cast<std::size_t>(field)]; }

std::optional<TimeField> parse_time_field(std::string_view text) noexcept {
  auto const* const found = std::ranges::find(kTimeFields, text);
  if (found == std::end(kTimeFields)) return std::nullopt;
  return static_cast<TimeField>(found - kTimeFields);
}

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
  made.type = value_type(type);
  made.column = position;
  made.name = std::move(name);
  return made;
}

Result<Expression> constant(Scalar value, DataType type) {
  if (!kind_of(type) || !holds_value(type, value))
    return fail(ErrorCode::usage, fmt::format("a value of {} is not {}", to_string(type), text_of(value, type)));
  Expression made;
  made.form = Expression::Form::constant;
  made.type = std::move(type);
  made.value = std::move(value);
  return made;
}

namespace {

Result<Expression> make_call(Function function, std::vector<Expression> arguments, TimeField field,
                             OnFailure on_failure, std::optional<DataType> const& result = std::nullopt) {
  auto const& row = function_row(function);
  auto type = result_of(row, arguments, field, result);
  if (!type) return tl::unexpected(not_taken(row, arguments));
  Expression made;
  made.form = Expression::Form::call;
  made.type = std::move(*type);
  made.function = function;
  made.field = field;
  made.on_failure = on_failure;
  made.arguments = std::move(arguments);
  return made;
}

std::vector<Expression> one(Expression argument) {
  std::vector<Expression> arguments;
  arguments.push_back(std::move(argument));
  return arguments;
}

}  // namespace

Result<Expression> call(Function function, std::vector<Expression> arguments, OnFailure on_failure,
                        std::optional<DataType> const& result) {
  GARUDA_EXPECTS(function != Function::extract && function != Function::truncate);
  return make_call(function, std::move(arguments), TimeField::year, on_failure, result);
}

Result<Expression> compare(Expression first, Comparator comparator, Expression second) {
  auto arguments = one(std::move(first));
  arguments.push_back(std::move(second));
  GARUDA_TRY_ASSIGN(auto made, call(Function::compare, std::move(arguments)));
  made.comparator = comparator;
  return made;
}

Result<Expression> extract(TimeField field, Expression value) {
  return make_call(Function::extract, one(std::move(value)), field, OnFailure::error);
}

Result<Expression> truncate(TimeField field, Expression value, OnFailure on_failure) {
  return make_call(Function::truncate, one(std::move(value)), field, on_failure);
}

Result<Expression> cast(Expression value, DataType to, OnFailure on_failure) {
  if (!can_be_cast(value.type, to))
    return fail(ErrorCode::usage, fmt::format("{} cannot be cast to {}", to_string(value.type), to_string(to)));
  Expression made;
  made.form = Expression::Form::call;
  made.type = std::move(to);
  made.function = Function::cast;
  made.on_failure = on_failure;
  made.arguments = one(std::move(value));
  return made;
}

bool can_fail(Expression const& expression) noexcept {
  if (expression.form != Expression::Form::call) return false;
  bool const has_error = is_partial(expression.function) && expression.on_failure == OnFailure::error;
  if (has_error && !is_total(expression)) return true;
  return std::ranges::any_of(expression.arguments, can_fail);
}

std::vector<Expression> conjuncts(Expression const& expression) {
  if (expression.form != Expression::Form::call || expression.function != Function::all) return {expression};
  std::vector<Expression> parts;
  for (auto const& argument : expression.arguments) std::ranges::move(conjuncts(argument), std::back_inserter(parts));
  return parts;
}

std::string to_string(Expression const& expression) {
  if (expression.form == Expression::Form::column) return expression.name;
  if (expression.form == Expression::Form::constant) return text_of(expression.value, expression.type);
  auto const& row = function_row(expression.function);
  auto const& arguments = expression.arguments;
  if (row.form == CallForm::infix) {
    auto const sign = expression.function == Function::compare ? to_string(expression.comparator) : row.text;
    return fmt::format("({} {} {})", to_string(arguments[0]), sign, to_string(arguments[1]));
  }
  std::string inside;
  if (row.function == Function::extract || row.function == Function::truncate) inside = to_string(expression.field);
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
