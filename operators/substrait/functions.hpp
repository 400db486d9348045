// Scalar functions of Substrait and DataFusion as calls of the functions that queries have.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/expression.hpp"
#include "operators/substrait/options.hpp"
#include "operators/substrait/read_literal.hpp"

namespace garuda::substrait {

/// An argument of a function: a value, an interval, or a word that chooses between meanings.
struct Argument {
  ScalarExpression value;
  std::optional<Interval> interval;
  std::optional<std::string> word;
};

struct ScalarCall {
  std::string name;  ///< As the plan declares it, without the types behind a colon.
  std::vector<Argument> arguments;
  std::vector<FunctionOption> options{};  ///< That were checked.
  std::optional<DataType> output;  ///< The type that the plan gives the result, where it is one that queries have.
};

/// A null that takes the type of what stands beside it.
ScalarExpression null_value();

/// The call as an expression. Errors: usage for an unknown function, or arguments that it does not take, naming it.
Result<ScalarExpression> make_call(ScalarCall call);

}  // namespace garuda::substrait
