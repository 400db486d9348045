// Columns of one side of a join, by name.
#pragma once

#include <cstddef>

#include "garuda/column_ref.hpp"
#include "garuda/error.hpp"
#include "garuda/types.hpp"

namespace garuda::resolve {

/// Position of the column that `reference` names in the schema of its side. Errors: those of find_column, naming the
/// side.
Result<std::size_t> find_on_side(Schema const& schema, ColumnRef const& reference);

}  // namespace garuda::resolve
