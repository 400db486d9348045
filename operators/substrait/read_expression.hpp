// Expressions of Substrait.
#pragma once

#include "garuda/error.hpp"
#include "garuda/expression.hpp"
#include "operators/substrait/message.hpp"
#include "operators/substrait/relation.hpp"

namespace garuda::substrait {

/// Reads expressions over the rows of one relation. A scalar subquery, whose value is the same for all rows, becomes a
/// column more of that relation, and so does the number of a row in its window.
class ExpressionReader {
 public:
  ExpressionReader(Relation input, PlanContext& context) : input_(std::move(input)), context_(context) {}

  /// The expression of a message `Expression`. Errors: those of read_relation.
  Result<ScalarExpression> read(Message const& expression);
  Result<std::vector<ScalarExpression>> read_all(std::vector<Message> const& expressions);
  /// The boolean of the field; nullopt: it is not there.
  template <FieldNumber Number>
  Result<std::optional<ScalarExpression>> read_optional(Message const& message, Number field) {
    if (!message.has(field)) return std::nullopt;
    GARUDA_TRY_ASSIGN(auto const expression, message.message(field));
    GARUDA_TRY_ASSIGN(auto value, read(expression));
    return value;
  }

  /// The keys of messages `SortField`.
  Result<std::vector<SortKey>> read_sort_keys(std::vector<Message> const& messages);

  /// The relation with the columns of all that was read. Requires: nothing more is read.
  Relation take_input() { return std::move(input_); }
  Relation const& input() const noexcept { return input_; }

 private:
  Result<ScalarExpression> read_selection(Message const& selection) const;
  Result<ScalarExpression> read_function(Message const& function);
  Result<ScalarExpression> read_window(Message const& window);
  Result<ScalarExpression> read_if_then(Message const& if_then);
  Result<ScalarExpression> read_switch(Message const& chooser);
  Result<ScalarExpression> read_cast(Message const& cast);
  Result<ScalarExpression> read_or_list(Message const& list);
  Result<ScalarExpression> read_subquery(Message const& subquery);
  Result<ScalarExpression> read_scalar_subquery(Message const& scalar);
  Result<ScalarExpression> read_exists(Message const& predicate);
  Result<ScalarExpression> read_in_predicate(Message const& predicate);

  Relation input_;
  PlanContext& context_;
};

}  // namespace garuda::substrait
