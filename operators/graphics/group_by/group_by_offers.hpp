// The graphics path's strategies for a group-by, and their prices.
#pragma once

#include "garuda/error.hpp"
#include "operators/contract/offers/offer.hpp"

namespace garuda::graphics {

/// See GroupByRow::offers. Errors: those of group_by_limits and choose_key_form.
Result<contract::GroupByOffers> graphics_group_by_offers(contract::GroupByInquiry const& inquiry);

/// Adds to the plan what a slice will draw into, as far as it is known before.
Result<void> describe_group_by_images(contract::GroupByShape const& shape, contract::GroupByOffer const& offer,
                                      contract::DeviceFacts const& facts, Plan& plan);

}  // namespace garuda::graphics
