// Values as text, for a preview.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/table.hpp"

namespace garuda::io {

/// Returns rows [0, num_rows) of `batch` as text, row by row, one string a column: "null", numbers, ISO 8601 dates,
/// strings as they are, in double quotes where they are "null", empty, begin or end with a space or begin with a quote,
/// binary values in hexadecimal. Requires: num_rows <= batch.num_rows.
Result<std::vector<std::vector<std::string>>> format_rows(Schema const& schema, Batch const& batch,
                                                          std::int64_t num_rows);

/// `schema` with the types that stored columns (stored_types.hpp) stand for. Errors: those of to_arrow_schema.
Result<Schema> shown_schema(Schema const& schema);

}  // namespace garuda::io
