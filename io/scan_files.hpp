// Files as tables of queries.
#pragma once

#include <string_view>

#include "garuda/error.hpp"
#include "garuda/query.hpp"
#include "garuda/table.hpp"
#include "io/table_files.hpp"

namespace garuda::io {

/// The columns of files, but for those of types that garuda does not have. Errors: those of read_fields.
Result<Schema> schema_of(TableFiles const& files);

/// Rows of some columns under the schema of their files. Columns that were not read have no buffers.
Table with_all_columns(Table read, Schema const& whole);

/// A table for Query::scan that is read when the query runs: of files as find_files takes them, the columns that the
/// query names and, of Parquet, the row groups that may have rows which it needs. Looks at the columns of the files at
/// once. Errors: those of find_files and read_fields.
Result<ScannedTable> scan_files(std::string_view files);
Result<ScannedTable> scan_files(TableFiles files);

}  // namespace garuda::io
