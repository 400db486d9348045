// Subtrees of a query that are equal, so that one run gives the rows of all.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "operators/query/bind.hpp"

namespace garuda::query {

/// Whether two queries give the same rows: the same operators over the same tables, with equal expressions. Names of
/// columns do not count.
bool are_equal(Bound const& a, Bound const& b);

/// Whether the rows of an operator are those of a table, perhaps with columns picked.
bool is_table(Bound const& query);

/// The subtrees of a query that stand in it more than once and whose rows are kept in memory anyway: operators that end
/// a pipeline, and build sides of joins that are more than columns of a table. No expression has another value when it
/// is computed again.
class CommonSubtrees {
 public:
  /// Borrows the query.
  explicit CommonSubtrees(Bound const& query);

  std::size_t size() const noexcept { return subtrees_.size(); }
  /// How often the query has a subtree, where it is not part of another one that is common.
  std::size_t uses(std::size_t subtree) const noexcept { return subtrees_[subtree].uses; }
  /// The subtree that a query is equal to; nullopt: none.
  std::optional<std::size_t> find(Bound const& query) const;
  /// Whether the operator that ends the pipelines below filters and projections is a common subtree.
  bool feeds(Bound const& query) const;

 private:
  struct Subtree {
    Bound const* query = nullptr;
    std::size_t uses = 0;
  };

  void add(Bound const& query, bool is_kept);

  std::vector<Subtree> subtrees_;
};

}  // namespace garuda::query
