// Validates arrays of nested types, down to their leaves.
#pragma once

#include "core/arrow/arrow_validate.hpp"
#include "core/nested/nested_layout.hpp"

namespace garuda {

/// Validates the rows of `window`, counted from the array's offset, and all that they refer to. Storage is that of
/// view_array, for what is looked at on the way. Errors: invalid_input, out_of_memory.
Result<void> validate_nested(ArrowArray const& array, NestedType const& type, RowWindow window, ImportStorage& storage);

}  // namespace garuda
