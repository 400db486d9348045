// The strategies of the CPU path for non-equi joins, and what they cost: nested loops, and ranges of either side sorted
// by a column that the condition bounds.
#pragma once

#include "garuda/error.hpp"
#include "operators/contract/offers/offer.hpp"

namespace garuda::cpu {

/// See ConditionRow::offers. Errors: usage for method=sorted_ranges where no column is bounded.
Result<contract::JoinOffers> cpu_condition_offers(contract::JoinInquiry const& inquiry);

}  // namespace garuda::cpu
