#include "operators/query/bind_expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/type_rows.hpp"
#include "expr/vector.hpp"
#include "keys/codes/key_types.hpp"
#include "operators/query/query_functions.hpp"

namespace garuda::query {
namespace {

using expr::Expression;

Result<Expression> bind_call(ScalarExpression const& expression, Schema const& input) {
  FunctionCall call{expression.name,
                    {},
                    expression.type,
                    expression.null_on_failure ? expr::OnFailure::null : expr::OnFailure::error};
  for (auto const& argument : expression.arguments) {
    GARUDA_TRY_ASSIGN(auto bound, bind_expression(argument, input));
    call.arguments.push_back(std::move(bound));
  }
  return bind_function(std::move(call));
}

Result<Expression> column_at(std::size_t position, Schema const& input) {
  auto const& [name, type, nullable, metadata] = input[position];
  if (!expr::kind_of(type))
    return fail(ErrorCode::invalid_input,
                fmt::format("expressions do not compute with column '{}', whose type is {}", name, to_string(type)));
  return expr::column(position, type, name);
}

Result<Expression> bind_literal(Literal const& literal) {
  // A constant has no codes: it is one of the values that the dictionary is of.
  auto const& type = literal.type.id == TypeId::dictionary ? *literal.type.value : literal.type;
  return std::visit(
      [&]<class Value>(Value const& value) {
        if constexpr (std::is_same_v<Value, std::array<std::uint64_t, 2>>)
          return expr::constant(static_cast<Int128>((UInt128{value[1]} << 64) | value[0]), type);
        else
          return expr::constant(expr::Scalar(value), type);
      },
      literal.value);
}

}  // namespace

Result<Expression> bind_expression(ScalarExpression const& expression, Schema const& input) {
  using Form = ScalarExpression::Form;
  switch (expression.form) {
    case Form::column: {
      GARUDA_TRY_ASSIGN(auto const position, find_column(input, expression.name));
      return column_at(position, input);
    }
    case Form::position:
      if (expression.position < input.size()) return column_at(expression.position, input);
      return fail(ErrorCode::usage, fmt::format("an expression refers to one of {} columns by its position: {}",
                                                input.size(), expression.position));
    case Form::literal:
      return bind_literal(expression.literal);
    case Form::call:
      return bind_call(expression, input);
    case Form::cast: {
      GARUDA_TRY_ASSIGN(auto value, bind_expression(expression.arguments.at(0), input));
      return expr::cast(std::move(value), expression.type.value(),
                        expression.null_on_failure ? expr::OnFailure::null : expr::OnFailure::error);
    }
  }
  return fail(ErrorCode::usage, "an expression has no form");
}

}  // namespace garuda::query
