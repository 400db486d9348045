// Queries of tables that live on a device: the ways to run them there.
#pragma once

#include "garuda/error.hpp"
#include "operators/contract/offer.hpp"

namespace garuda::placement {

/// One offer a way that the tuning allows, priced for shape.expected_matches. Errors: those of resident_join_shape and
/// resident_join_ways.
Result<contract::JoinOffers> resident_join_offers(contract::JoinInquiry const& inquiry);

/// One offer: which of its ways a group-by takes follows from a sample of its keys, as it runs.
Result<contract::GroupByOffers> resident_group_by_offers(contract::GroupByInquiry const& inquiry);

}  // namespace garuda::placement
