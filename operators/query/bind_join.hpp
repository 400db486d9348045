// Joins of a query, and columns that operators need beside those of their inputs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/query.hpp"
#include "garuda/types.hpp"
#include "operators/query/bind.hpp"

namespace garuda::query {

template <class Operation>
Bound with_input(Operation operation, Bound input, Schema schema) {
  Bound bound{std::move(operation), {}, std::move(schema)};
  bound.inputs.push_back(std::move(input));
  return bound;
}

/// A column that stands alone stays as it is, whatever its type. Errors: those of bind_expression.
Result<ProjectedColumn> bind_column(ScalarExpression const& value, Schema const& input);

Field field_of(ProjectedColumn const& column, Schema const& input, std::string name);

/// The projection to the first `count` columns.
BoundProject first_columns(std::size_t count);

bool can_be_sorted(DataType const& type);

/// Columns that are computed beside those of an input.
class AddedColumns {
 public:
  /// Borrows nothing.
  explicit AddedColumns(Schema const& input);

  /// The position of a column with the values of an expression over the input's columns: its own, or a new one behind
  /// them. Errors: those of bind_expression.
  Result<std::size_t> add(ScalarExpression const& value);

  /// The position of a further column with the values of one that is there.
  std::size_t add_copy(std::size_t column);

  /// Columns, those of the input among them.
  std::size_t size() const noexcept { return columns_.columns.size(); }

  /// The input with the columns behind its own.
  Bound behind(Bound input) &&;

 private:
  std::size_t inputs_;
  Schema schema_;
  BoundProject columns_;
};

/// The condition of a join that was bound as an expression over the columns of the left input, then those of the right
/// one; nullopt: it compares values of different types, which joins compare exactly.
Result<std::optional<expr::Expression>> pair_expression(Condition const& where, Schema const& left,
                                                        Schema const& right);

/// Errors: those of bind_expression and resolve_join.
Result<Bound> bind_join(JoinClause const& clause, Bound left, Bound right);

}  // namespace garuda::query
