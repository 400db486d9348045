// The ways of the CPU path to join without keys.
#pragma once

#include "garuda/error.hpp"
#include "operators/contract/offer.hpp"

namespace garuda::cpu {

/// Nested loops, and ranges of either side sorted by a column that the condition bounds; see ConditionRow::offers.
/// Errors: usage for method=sorted_ranges where no column is bounded.
Result<contract::JoinOffers> cpu_condition_offers(contract::JoinInquiry const& inquiry);

}  // namespace garuda::cpu
