// Group-bys whose draws evaluate what feeds them: filters and projections below a group-by on the path that draws rows.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "expr/program.hpp"
#include "garuda/group_by.hpp"
#include "garuda/table.hpp"
#include "operators/query/bind.hpp"
#include "operators/resolve/group_by_columns.hpp"

namespace garuda::query {

/// A group-by with the filter and the expressions that its draws evaluate for each row of `source`.
struct DrawnGroupBy {
  Bound const* source = nullptr;           ///< the operator whose rows are drawn
  std::vector<Bound const*> drawn;         ///< the operators between it and the group-by, top first
  std::optional<expr::Expression> filter;  ///< over the columns of `source`; rows that fail are clipped
  std::vector<expr::Expression> values;    ///< likewise: columns behind those of `source`
  GroupBySpec spec;                        ///< of these columns, which are named by their positions
  Schema schema;

  /// Resolves against the rows of `source`: columns of `values` are evaluated. Errors: those of resolve_group_by;
  /// invalid_input, with the reason, for aggregates that are not made of blended states.
  Result<resolve::ResolvedGroupBy> resolved(TableView table) const;
};

/// The form of a group-by that draws what is below it; nullopt: nothing below it is evaluated, or not so. Does not look
/// at what devices compute.
std::optional<DrawnGroupBy> drawn_group_by(Bound const& query);

/// The rows of `table` with columns behind its own which are not there: kernels evaluate them.
class TableWithoutValues {
 public:
  /// Borrows all arguments.
  TableWithoutValues(TableView table, Schema const& schema);
  TableView view() const noexcept { return {*schema_, batches_}; }

 private:
  Schema const* schema_;
  std::vector<std::vector<ArrayView>> columns_;
  std::vector<BatchView> batches_;
};

}  // namespace garuda::query
