// Columns of a result that are written as a whole: lists of groups' values, and exact states as bytes.
#pragma once

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/materialize/gather.hpp"
#include "operators/resolve/group_by_columns.hpp"

namespace garuda::group_by {

/// Writes one column of min_n or max_n: the least or greatest values of each group of `range`, in order, a null for
/// groups without values. Cuts the range where 32-bit offsets end, but for its first group. `gatherer`: of the column's
/// values, where they are bytes. Works in the calling thread's arena. Errors: out_of_memory, cancelled; limit_exceeded
/// for a list whose bytes 32-bit offsets do not reach.
Result<Batch> write_lists(resolve::FinaliseInput const& input, resolve::GroupRange& range, Gatherer const* gatherer,
                          Control const& control);

/// Writes one column: the exact state of each group of `range` (resolve/exact_state.hpp), large_binary without nulls.
/// Works in the calling thread's arena. Errors: out_of_memory, cancelled.
Result<Batch> write_states(resolve::FinaliseInput const& input, resolve::GroupRange const& range,
                           Control const& control);

}  // namespace garuda::group_by
