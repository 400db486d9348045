// Tables that a plan of Substrait reads by their names.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/query.hpp"
#include "garuda/row_test.hpp"

namespace garuda {

struct NamedTable {
  std::string name;  ///< Parts of a name, as of a table in a schema, stand with points between them.
  ScannedTable table;
};

/// Finds the table of a name while a plan is read, once a name. Errors: its own, as the plan's.
using FindTable = std::function<Result<ScannedTable>(std::string const& name)>;

/// A table that a plan reads, the columns that it reads of it, at least one, in the table's order, and a test that the
/// rows pass which it needs.
struct PlannedTable {
  std::string name;
  std::vector<std::string> columns;
  RowTest rows{};
};

}  // namespace garuda
