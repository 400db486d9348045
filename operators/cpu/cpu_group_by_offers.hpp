// The ways of the CPU path to group.
#pragma once

#include "garuda/error.hpp"
#include "operators/offer.hpp"

namespace garuda::operators {

/// See GroupByRow::offers. Errors: usage when the keys do not allow what is asked for.
Result<GroupByOffers> cpu_group_by_offers(GroupByInquiry const& inquiry);

}  // namespace garuda::operators
