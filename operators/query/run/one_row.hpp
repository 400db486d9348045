// Joins with one row, such as that of a scalar subquery: its values are constants to the rows of the other side.
#pragma once

#include <optional>

#include "expr/program.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/query/bind.hpp"

namespace garuda::query {

/// The side of a join that is known to be one row, where each row of the other side comes once at most with its values
/// behind it or before it; nullopt: there is none. Requires: the query is the join.
std::optional<Side> one_row_side(BoundJoin const& join, Bound const& query);

/// The columns of such a join over those of the other side. Errors: those of expr::constant.
Result<BoundProject> with_row(BoundJoin const& join, Side side, TableView row);

}  // namespace garuda::query
