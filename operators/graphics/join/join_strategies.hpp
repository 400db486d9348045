// The strategies of the graphics path to join, and what they cost. The kernel chooses between them slice by slice, from
// statistics that it takes; the candidates say what it is expected to choose from and at what cost.
#pragma once

#include "garuda/error.hpp"
#include "operators/contract/offers/offer.hpp"

namespace garuda::graphics {

/// See JoinRow::offers. Errors: those of graphics_limits.
Result<contract::JoinOffers> graphics_join_offers(contract::JoinInquiry const& inquiry);

}  // namespace garuda::graphics
