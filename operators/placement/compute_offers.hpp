// The ways to join and to group by compute passes: tables whole on the device, or in slices.
#pragma once

#include "garuda/error.hpp"
#include "operators/contract/offer.hpp"

namespace garuda::placement {

/// See JoinRow::offers. Errors: no_device for a device that cannot run the path; usage or, for want of memory,
/// limit_exceeded when placement=device is asked for and cannot be had, with the reason.
Result<contract::JoinOffers> compute_join_offers(contract::JoinInquiry const& inquiry);
Result<contract::GroupByOffers> compute_group_by_offers(contract::GroupByInquiry const& inquiry);

}  // namespace garuda::placement
