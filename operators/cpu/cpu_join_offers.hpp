// The ways of the CPU path to join.
#pragma once

#include "garuda/error.hpp"
#include "operators/offer.hpp"

namespace garuda::operators {

/// Never fails, never empty; see JoinRow::offers.
Result<JoinOffers> cpu_join_offers(JoinInquiry const& inquiry);

}  // namespace garuda::operators
