// The oracle of whole queries: the operators of a tree one after the other, row by row, by the interpreter of
// expressions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "garuda/query.hpp"
#include "garuda/types.hpp"
#include "tests/expr/row_values.hpp"
#include "tests/reference/reference_join.hpp"

namespace garuda::reference {

using Row = std::vector<expr::Cell>;

/// The rows of an operator, in columns of plain types.
struct Relation {
  Schema schema;
  std::vector<Row> rows;
  bool is_ordered = false;  ///< A sort says the order of the rows.
};

/// When a value that cannot be computed fails the query. An engine may compute a column that nothing reads, or leave it
/// out: it must fail where the first two modes do, and must not where neither does. Where the rows of a filter meet a
/// join it may ask them in another order, so that those which no other side has need not pass the filter.
enum class Failures : std::uint8_t {
  at_once,           ///< where a column has it
  when_read,         ///< where an expression, a sort, a group or the result reads it
  not_from_filters,  ///< likewise, but a filter leaves out rows that it cannot test, a group-by those whose keys it
                     ///< cannot compute, and a condition of a join pairs that another part of it leaves out
};

/// A query whose joins meet more pairs than a test has time for.
class TooLarge : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs a query. Throws expr::Failure where it has no result, TooLarge, and std::runtime_error for what a query does
/// not take.
Relation run_reference(Query const& query, Failures failures);

/// The columns of a query. Throws std::runtime_error for what a query does not take.
Schema schema_of(Query const& query);

/// The rows as read_table has them, NaNs as one. Throws expr::Failure for a value that could not be computed.
std::vector<std::vector<Cell>> texts_of(Relation const& relation);

/// A cell of read_table, NaNs as one.
Cell with_one_nan(DataType const& type, Cell cell);

}  // namespace garuda::reference
