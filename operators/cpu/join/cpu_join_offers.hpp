// The ways of the CPU path to join.
#pragma once

#include "garuda/error.hpp"
#include "operators/contract/offer.hpp"

namespace garuda::cpu {

/// Never empty; see JoinRow::offers. Errors: usage for method=bitmap where no bitmap says what is asked for.
Result<contract::JoinOffers> cpu_join_offers(contract::JoinInquiry const& inquiry);

}  // namespace garuda::cpu
