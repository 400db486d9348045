// The order of inner joins, and the sides that they build on.
#pragma once

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/query/bind.hpp"

namespace garuda::query {

/// The query with its inner joins in the order that keeps intermediate results small, and every join with the side that
/// has fewer rows as its build side. Cardinalities are estimated from samples of the tables; the same tables give the
/// same order. Gives the same rows and columns; an inner join's rows may come in another order. A query without joins
/// is left as it is. Errors: those of sampling the tables; an operator that fails on a sample would fail in the run.
Result<Bound> order_joins(Bound query, Control const& control);

/// The same, with estimates for the operators of a query without joins, too.
Result<Bound> estimate_rows(Bound query, Control const& control);

}  // namespace garuda::query
