// The columns that a query reads of its tables.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/query.hpp"
#include "garuda/table.hpp"

namespace garuda::query {

/// The columns that one scan reads, by their positions in the table.
struct ScannedColumns {
  TableView table;
  std::set<std::size_t> columns;
};

/// The columns that the scans of a query read, at least one of each, scan by scan. Looks at no row.
/// Errors: those of bind.
Result<std::vector<ScannedColumns>> scanned_columns(Query const& query);

}  // namespace garuda::query
