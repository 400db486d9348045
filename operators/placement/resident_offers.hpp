// Queries of tables that live on a device: the ways to run them there.
#pragma once

#include <vector>

#include "garuda/error.hpp"
#include "operators/compute/join/resident_join.hpp"
#include "operators/contract/offer.hpp"
#include "operators/resolve/join_request.hpp"

namespace garuda::placement {

/// A way to join tables of a device, offered but for its start.
struct OfferedWay {
  contract::JoinOffer offer;
  compute::ResidentJoinWay way;
};

/// The ways that the tuning allows, priced for so many `matches`. `request`: of tables of a device, or of outlines of
/// such. `looks_at_keys`: they may be read there. Errors: those of resident_join_shape and resident_join_ways.
Result<std::vector<OfferedWay>> offer_join_ways(contract::JoinInquiry const& inquiry,
                                                resolve::JoinRequest const& request, double matches,
                                                bool looks_at_keys);

/// One offer each, for shape.expected_matches. Errors: as above.
Result<contract::JoinOffers> resident_join_offers(contract::JoinInquiry const& inquiry);

/// One offer: which of its ways a group-by takes follows from a sample of its keys, as it runs.
Result<contract::GroupByOffers> resident_group_by_offers(contract::GroupByInquiry const& inquiry);

}  // namespace garuda::placement
