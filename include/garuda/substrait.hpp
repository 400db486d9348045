// Tables that a plan of Substrait reads by their names.
#pragma once

#include <string>

#include "garuda/table.hpp"

namespace garuda {

struct NamedTable {
  std::string name;  ///< Parts of a name, as of a table in a schema, stand with points between them.
  TableView table;
};

}  // namespace garuda
