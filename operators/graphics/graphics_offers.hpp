// The ways to join and to group through the graphics pipeline.
#pragma once

#include "garuda/error.hpp"
#include "operators/offer.hpp"

namespace garuda::operators {

/// See JoinRow::offers. Errors: those of graphics_limits.
Result<JoinOffers> graphics_join_offers(JoinInquiry const& inquiry);

/// See GroupByRow::offers. Errors: those of group_by_limits and choose_key_form.
Result<GroupByOffers> graphics_group_by_offers(GroupByInquiry const& inquiry);

/// What a slice will draw into, as far as it is known before.
Result<void> describe_group_by_images(GroupByShape const& shape, GroupByOffer const& offer, DeviceFacts const& facts,
                                      Plan& plan);

}  // namespace garuda::operators
