// Keys of sorts, and numbers of rows in the windows of Substrait.
#include <fmt/format.h>

#include <utility>

#include "operators/substrait/field_numbers.hpp"
#include "operators/substrait/read_expression.hpp"
#include "operators/substrait/read_type.hpp"

namespace garuda::substrait {

Result<std::vector<SortKey>> ExpressionReader::read_sort_keys(std::vector<Message> const& messages) {
  std::vector<SortKey> keys;
  for (auto const& message : messages) {
    GARUDA_TRY_ASSIGN(auto const expression, message.message(SortKeyField::expression));
    GARUDA_TRY_ASSIGN(auto value, read(expression));
    GARUDA_TRY_ASSIGN(auto const number, message.integer(SortKeyField::direction));
    auto const direction = static_cast<SortDirection>(number);
    if (number < 1 || number > 4)
      return fail(ErrorCode::usage, fmt::format("queries do not have this direction of a sort: {}", number));
    keys.push_back(
        {std::move(value),
         direction == SortDirection::descending_nulls_first || direction == SortDirection::descending_nulls_last,
         direction == SortDirection::ascending_nulls_first || direction == SortDirection::descending_nulls_first});
  }
  return keys;
}

Result<ScalarExpression> ExpressionReader::read_window(Message const& window) {
  GARUDA_TRY_ASSIGN(auto const anchor, window.integer(WindowFunctionField::function_reference));
  GARUDA_TRY_ASSIGN(auto const name, function_name(context_, anchor));
  if (name != "row_number")
    return fail(ErrorCode::usage, fmt::format("window function '{}' of the plan is none that queries have", name));
  if (window.has(WindowFunctionField::arguments))
    return fail(ErrorCode::invalid_input, fmt::format("window function '{}' of the plan takes no arguments", name));
  GARUDA_TRY_ASSIGN(auto const partitions, window.messages(WindowFunctionField::partitions));
  GARUDA_TRY_ASSIGN(auto partition, read_all(partitions));
  GARUDA_TRY_ASSIGN(auto const sorts, window.messages(WindowFunctionField::sorts));
  GARUDA_TRY_ASSIGN(auto keys, read_sort_keys(sorts));
  input_.query = input_.query.number_rows({}, std::move(partition), std::move(keys));
  auto number = column(input_.width++);
  if (!window.has(WindowFunctionField::output_type)) return number;
  GARUDA_TRY_ASSIGN(auto const message, window.message(WindowFunctionField::output_type));
  GARUDA_TRY_ASSIGN(auto type, read_type(message));
  return cast(std::move(number), std::move(type));
}

}  // namespace garuda::substrait
