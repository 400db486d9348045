// The loops of steps, by the kind of their operands. Each sets the results of all rows, null ones too; the evaluator
// says which are null, but for the functions of this table that say so themselves (RowEffect::own). Those that can have
// no value for a row set StepFrame::failed.
#pragma once

#include "expr/functions/step_frame.hpp"

namespace garuda::expr {

/// Arithmetic and rounding of integers and floats. Sets `failed`.
void compute_numbers(StepFrame const& frame);
/// Arithmetic and rounding of decimals. Requires: no operand is narrow. Sets `failed`.
void compute_decimals(StepFrame const& frame);
/// Sums and products of decimals into StepFrame::narrow, where 64 bits hold operands and results. False: they may not,
/// and results mean nothing. Sets `failed`.
bool compute_narrow_decimals(StepFrame const& frame);
/// Comparisons of decimals, whose scales may differ. Requires: no operand is narrow.
void compare_decimals(StepFrame const& frame);
/// Casts between all types. Sets `failed`.
void cast_values(StepFrame const& frame);
/// Casts from text and to it. Sets `failed`.
void cast_from_text(StepFrame const& frame);
void cast_to_text(StepFrame const& frame);
/// Functions of texts and binary; substring sets `failed`.
void compute_text(StepFrame const& frame);
/// Fields, truncation and intervals of dates and times; the last two set `failed`.
void compute_times(StepFrame const& frame);

/// Functions that say themselves which results are null: coalesce, least, greatest and in.
void choose_values(StepFrame const& frame, Vector& result);

}  // namespace garuda::expr
