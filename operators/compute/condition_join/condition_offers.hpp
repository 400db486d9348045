// The way of the compute path to join without keys.
#pragma once

#include "garuda/error.hpp"
#include "operators/contract/offers/offer.hpp"

namespace garuda::compute {

/// Nested loops, in slices; see ConditionRow::offers. Errors: usage for another method, and for a condition that does
/// not fit the passes; no_device for a device that cannot run them.
Result<contract::JoinOffers> compute_condition_offers(contract::JoinInquiry const& inquiry);

}  // namespace garuda::compute
