// The table of functions, and the types that they take and give.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "expr/program.hpp"

namespace garuda::expr {

/// The way in which nulls and failures of a function's rows come about.
enum class RowEffect : std::uint8_t {
  own,      ///< The function says itself which results are null.
  total,    ///< A row has a value where every operand has one.
  partial,  ///< A row whose operands have values may have none.
};

/// The way in which a call becomes steps.
enum class CallForm : std::uint8_t {
  infix,   ///< `(a + b)`, one step.
  prefix,  ///< `abs(a)`, one step.
  chain,   ///< `coalesce(a, b, c)`: a step of two operands for each argument after the first.
};

/// A function's row.
struct FunctionRow {
  Function function;
  std::string_view text;
  CallForm form;
  RowEffect effect;
  std::size_t least;           ///< So many arguments at least,
  std::size_t most;            ///< and at most;
  std::size_t constants_from;  ///< those from here on are constants, and no operands.
};

FunctionRow const& function_row(Function function) noexcept;

/// The number of arguments of a call that are operands.
std::size_t num_operands_of(FunctionRow const& row, std::size_t arguments) noexcept;

/// The type of a call's result; nullopt: the function does not take these arguments. `asked`: the type that the plan
/// says, where it says one.
std::optional<DataType> result_of(FunctionRow const& row, std::vector<Expression> const& arguments, TimeField field,
                                  std::optional<DataType> const& asked);

/// Whether values of a type become values of another.
bool can_be_cast(DataType const& from, DataType const& to);

}  // namespace garuda::expr
