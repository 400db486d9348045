// The columns and rows that a query reads of its tables.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/query.hpp"
#include "garuda/row_test.hpp"
#include "garuda/table.hpp"

namespace garuda::query {

/// The columns that one scan reads, by their positions in the table, and a test of the rows that the query needs of it.
struct ScannedColumns {
  TableView table;
  std::set<std::size_t> columns;
  RowTest rows{};
};

/// The columns and rows that the scans of a query read, at least one column of each, scan by scan. Looks at no row.
/// Errors: those of bind.
Result<std::vector<ScannedColumns>> scanned_columns(Query const& query);

/// All that the scans of a table read together: columns, in the table's order, and rows that some scan needs.
struct TableReads {
  std::vector<std::string> columns;
  RowTest rows{RowTest::Kind::any};
};

/// The reads of a table among those of all scans.
TableReads reads_of(TableView table, std::span<ScannedColumns const> scans);

}  // namespace garuda::query
