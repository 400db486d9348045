// The strategies to join and to group through the graphics pipeline.
#pragma once

#include "garuda/error.hpp"
#include "operators/contract/offer.hpp"

namespace garuda::graphics {

/// See JoinRow::offers. Errors: those of graphics_limits.
Result<contract::JoinOffers> graphics_join_offers(contract::JoinInquiry const& inquiry);

/// See GroupByRow::offers. Errors: those of group_by_limits and choose_key_form.
Result<contract::GroupByOffers> graphics_group_by_offers(contract::GroupByInquiry const& inquiry);

/// Describes the images that a slice will draw into, as far as they are known before.
Result<void> describe_group_by_images(contract::GroupByShape const& shape, contract::GroupByOffer const& offer,
                                      contract::DeviceFacts const& facts, Plan& plan);

}  // namespace garuda::graphics
