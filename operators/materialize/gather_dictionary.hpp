// Dictionaries of a gathered column: one for all batches.
#pragma once

#include "garuda/error.hpp"
#include "operators/materialize/gather.hpp"
#include "operators/materialize/gather_column.hpp"

namespace garuda {

/// Copies the dictionaries of `column` into one, sets `dictionary`, and sets `maps` and a type with wider indices, or
/// with 64-bit offsets of its values, as far as the union of different dictionaries needs it. Values keep the order of
/// their first appearance. Requires: a dictionary type; parts and source type are set. Errors: out_of_memory.
Result<void> unify_dictionaries(GatherColumn& column, GatherLimits limits);

}  // namespace garuda
