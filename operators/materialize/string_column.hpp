// Columns of strings and binary in a gather: bytes behind offsets, or views of them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/variable_value.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "garuda/types.hpp"
#include "operators/materialize/gather_rows.hpp"
#include "operators/materialize/referring_views.hpp"

namespace garuda {

struct GatherColumn;
struct GatherOutput;

/// Gathers the first `num_rows` rows of a column of strings, as far as `max_bytes` bytes of values allow, at least one;
/// returns how many. Values lie in a column's own memory, those of views that refer to the table in the table's.
/// Errors: out_of_memory; limit_exceeded for values that no view can tell the length of.
template <class RowId>
Result<std::int64_t> gather_strings(GatherColumn const& column, RowSelection<RowId> const& rows, std::int64_t num_rows,
                                    std::int64_t max_bytes, GatherOutput& output);

}  // namespace garuda
