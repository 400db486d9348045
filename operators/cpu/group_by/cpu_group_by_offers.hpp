// The ways of the CPU path to group.
#pragma once

#include "garuda/error.hpp"
#include "operators/contract/offer.hpp"

namespace garuda::cpu {

/// See GroupByRow::offers. Errors: usage when the keys do not allow what is asked for.
Result<contract::GroupByOffers> cpu_group_by_offers(contract::GroupByInquiry const& inquiry);

}  // namespace garuda::cpu
