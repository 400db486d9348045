// The ways of the CPU path to join.
#pragma once

#include "garuda/error.hpp"
#include "operators/contract/offer.hpp"

namespace garuda::cpu {

/// Never fails, never empty; see JoinRow::offers.
Result<contract::JoinOffers> cpu_join_offers(contract::JoinInquiry const& inquiry);

}  // namespace garuda::cpu
