// Sorts and numbers of a query's rows that do not fit its memory limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/query/limited/query_limit.hpp"
#include "operators/query/sort.hpp"

namespace garuda::query {

/// Gives what sort_rows() does, within an operator's memory. Rows that do not fit go to ranges of the order, by a
/// sample of them, block by block, and each range is sorted alone; of the first few rows wanted, blocks give theirs.
/// Errors: those of sort_rows and SpillSpace::keep; limit_exceeded
Result<Table> sort_within_limit(TableView table, std::span<SortColumn const> columns, std::optional<std::uint64_t> rows,
                                QueryLimit& limit, Control const& control);

/// Gives the rows that number_rows() does, in any order, likewise.
Result<Table> number_within_limit(TableView table, RowNumbering const& numbering, QueryLimit& limit,
                                  Control const& control);

}  // namespace garuda::query
