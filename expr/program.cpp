#include "expr/program.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "core/type_rows.hpp"

namespace garuda::expr {
namespace {

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

std::uint64_t word_of(Scalar const& value, Kind kind) {
  return with_kind(kind, [&]<class T>(T) {
    auto const held = std::visit(
        []<class Value>(Value from) {
          if constexpr (std::is_same_v<Value, std::monostate>)
            return T{};
          else
            return static_cast<T>(from);
        },
        value);
    std::uint64_t word = 0;
    std::memcpy(&word, &held, sizeof(held));
    return word;
  });
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
      auto const kind = *kind_of(expression.type);
      program_.add_constant(
          {kind, std::holds_alternative<std::monostate>(expression.value), word_of(expression.value, kind)});
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

  /// The same where null counts as false.
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

Register Program::add_constant(ProgramConstant constant) {
  GARUDA_EXPECTS(steps.empty());
  constants.push_back(constant);
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
