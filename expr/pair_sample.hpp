// How many pairs a condition leaves, from samples of both tables: what the planner prices joins without keys by.
#pragma once

#include <cstdint>

#include "expr/condition_parts.hpp"

namespace garuda::expr {

/// Pairs of all rows of both tables that the cross comparisons of a build column leave, about: as many as a sorted
/// index over it finds. Cost: some 2^12 rows of each side, sorted and searched.
double pairs_in_range(PairCondition const& condition, ConditionParts const& parts, Side build, std::uint32_t column);

/// Pairs that match, about. Where comparisons bound a column, those of a sample of its ranges are tested; else pairs of
/// rows here and there. Cost: 2^16 pairs tested at most.
double expected_pairs(PairCondition const& condition, std::uint64_t left_rows, std::uint64_t right_rows);

}  // namespace garuda::expr
