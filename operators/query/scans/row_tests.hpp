// Which rows of its tables a query needs, as far as comparisons of columns with constants tell.
#pragma once

#include <vector>

#include "garuda/row_test.hpp"
#include "operators/query/bind.hpp"

namespace garuda::query {

/// The test of a boolean expression over the columns of a schema: rows for which the expression is true pass it.
RowTest row_test(expr::Expression const& predicate, Schema const& schema);

/// A test for each scan of a query, in the order of scanned_columns(). The result of the query stays what it is where
/// rows that fail the test are not there; so do its errors. An expression that can fail is therefore a border: what is
/// computed behind it, in the same filter or above, tests no row. Requires: a pruned query.
std::vector<RowTest> row_tests(Bound const& query);

}  // namespace garuda::query
