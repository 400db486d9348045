// Random trees of operators over random tables, and other trees that give the same rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "garuda/query.hpp"
#include "garuda/table.hpp"
#include "tests/query/random_expressions.hpp"
#include "tests/query/random_tables.hpp"

namespace garuda::testing {

/// A case: its tables, a query over them, and what its expressions may do. Everything follows from the seed.
class RandomQuery {
 public:
  explicit RandomQuery(std::uint64_t seed);

  Query const& query() const noexcept { return query_; }
  /// A predicate over the columns of the query.
  ScalarExpression predicate();
  /// The query with some of its operators replaced by others that mean the same.
  Query rewritten();
  Draw& draw() noexcept { return draw_; }

 private:
  Query scan();
  Query relation(int depth);
  Query projected(Query const& input);
  Query joined(Query const& left, Query const& right);
  Query grouped(Query const& input);
  Query sorted(Query const& input);
  Query numbered(Query const& input);
  Query united(Query const& input);
  AggregateCall aggregate(RandomExpressions& expressions);
  RandomExpressions over(Schema const& schema) { return {schema, may_fail_, !has_limits_, draw_}; }

  Draw draw_;
  bool may_fail_;
  bool has_limits_;
  std::vector<Table> tables_;
  Query query_;
};

/// A query with one of its operators replaced by others that mean the same, here and there.
Query rewrite(Query const& query, Draw& draw);

/// The tree, an operator a line.
std::string to_text(Query const& query);

}  // namespace garuda::testing
