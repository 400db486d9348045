// Options of functions: overflow, rounding, and other things that a plan may want of them besides arguments.
#pragma once

#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "operators/substrait/message.hpp"

namespace garuda::substrait {

/// An option of a call, and the values that will do, the most wanted first.
struct FunctionOption {
  std::string name;
  std::vector<std::string> values;
};

/// The options in messages `FunctionOption`. One without values leaves the choice to whoever runs the plan.
Result<std::vector<FunctionOption>> read_options(std::vector<Message> const& messages);

/// The value of an option that is taken of those that a plan wants; empty: it wants none.
std::string value_of(std::vector<FunctionOption> const& options, std::string_view name);

/// Checks that queries do for each option one of the things that will do. `is_float`: whether the function gives
/// floats. Errors: usage, naming the function, the option and what is wanted of it.
Result<void> check_options(std::string const& function, std::vector<FunctionOption> const& options, bool is_float);

}  // namespace garuda::substrait
