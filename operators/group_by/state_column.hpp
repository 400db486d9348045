// Exact states of groups as a column of bytes.
#pragma once

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/resolve/group_by_columns.hpp"

namespace garuda::group_by {

/// Writes one column: the exact state of each group of `range` (resolve/exact_state.hpp), large_binary without nulls.
/// Works in the calling thread's arena. Errors: out_of_memory, cancelled.
Result<Batch> write_states(resolve::FinaliseInput const& input, resolve::GroupRange const& range,
                           Control const& control);

}  // namespace garuda::group_by
