// Scalar expressions of a query as typed expressions.
#pragma once

#include "expr/program.hpp"
#include "garuda/error.hpp"
#include "garuda/expression.hpp"
#include "garuda/types.hpp"

namespace garuda::query {

/// Finds the columns of `expression` in `input`, finds its functions, and widens arguments of different types to one
/// that holds the values of all. Errors: invalid_input for an unknown or ambiguous column, or a column of a type that
/// expressions do not compute with; usage for an unknown function, or arguments that it does not take.
Result<expr::Expression> bind_expression(ScalarExpression const& expression, Schema const& input);

}  // namespace garuda::query
