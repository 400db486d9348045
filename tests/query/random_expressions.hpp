// Random expressions over the columns of a query.
#pragma once

#include <cstddef>
#include <utility>

#include "garuda/expression.hpp"
#include "garuda/types.hpp"
#include "tests/query/random_tables.hpp"

namespace garuda::testing {

/// Makes expressions over the columns of a schema of plain types (reference::plain_type).
class RandomExpressions {
 public:
  /// `may_fail`: arithmetic and casts may be errors; else they give null. `divides_floats`: quotients of floats tell
  /// zeros apart, which a limit of rows that are equal otherwise does not.
  RandomExpressions(Schema const& schema, bool may_fail, bool divides_floats, Draw& draw)
      : schema_(schema), may_fail_(may_fail), divides_floats_(divides_floats), draw_(draw) {}

  /// An expression of that type, of a decimal of any precision where the type is a decimal.
  ScalarExpression of(DataType const& type, int depth);
  /// A boolean.
  ScalarExpression predicate(int depth) { return of({TypeId::boolean}, depth); }
  /// An expression of some type.
  ScalarExpression any(int depth);
  /// Two values that can be compared, the first one over `this`, the second over `other`.
  std::pair<ScalarExpression, ScalarExpression> keys(RandomExpressions& other, int depth);
  /// A column; a constant where there is none.
  ScalarExpression some_column();
  DataType some_type();

 private:
  ScalarExpression boolean(int depth);
  ScalarExpression comparison(int depth);
  ScalarExpression text_test(int depth);
  ScalarExpression number(DataType const& type, int depth);
  ScalarExpression decimal(int depth);
  ScalarExpression text(int depth);
  ScalarExpression moment(DataType const& type, int depth);
  ScalarExpression choice(DataType const& type, int depth);
  ScalarExpression leaf(DataType const& type);
  ScalarExpression constant(DataType const& type);
  ScalarExpression column_at(std::size_t position);
  /// A call that may have no value.
  ScalarExpression partial(std::string function, std::vector<ScalarExpression> arguments);
  ScalarExpression partial_cast(ScalarExpression value, DataType const& type);

  Schema const& schema_;
  bool may_fail_;
  bool divides_floats_;
  Draw& draw_;
};

}  // namespace garuda::testing
