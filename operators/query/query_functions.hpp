// The functions of queries by name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expr/program.hpp"
#include "garuda/condition.hpp"
#include "garuda/error.hpp"
#include "garuda/types.hpp"

namespace garuda::query {

/// A call of a function whose arguments are typed.
struct FunctionCall {
  std::string name;
  std::vector<expr::Expression> arguments;
  std::optional<DataType> type;  ///< of arithmetic of decimals; nullopt: the smallest that holds the exact result
  expr::OnFailure on_failure = expr::OnFailure::error;
};

/// The typed expression of a call, its arguments widened to types that the function takes. Errors: usage for an unknown
/// name, or arguments that the function does not take.
Result<expr::Expression> bind_function(FunctionCall call);

/// The comparator that a function is; nullopt: it is none.
std::optional<Comparator> comparator_of(std::string_view function);
/// The inverse.
std::string_view function_of(Comparator comparator);

}  // namespace garuda::query
