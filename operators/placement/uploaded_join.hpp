// Joins of host tables that go to a device whole and are joined there as tables that live on it: every kind, counted or
// not, with a condition. Inner joins that give rows stream instead (streamed_plan).
#pragma once

#include <vector>

#include "garuda/error.hpp"
#include "operators/contract/offer.hpp"

namespace garuda::placement {

/// Offers the ways to join shape.tables so on the inquiry's device, with their upload, and the rows' way down. While no
/// key was looked at, they are priced for a result of as many rows as the larger side. Reads null counts, nothing else
/// of the tables. Errors: usage, invalid_input, limit_exceeded with the reason why not; no_device for a device without
/// the compute path.
Result<std::vector<contract::JoinOffer>> offer_uploaded_join(contract::JoinInquiry const& inquiry);

}  // namespace garuda::placement
