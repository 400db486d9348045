// Joins of tables that are on a device whole: they live there, or go there first.
#pragma once

#include <memory>
#include <vector>

#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "operators/contract/offers/offer.hpp"
#include "operators/resolve/join_columns.hpp"

namespace garuda::placement {

/// Offers the strategies by which shape.tables may be joined whole on the inquiry's device. Tables of the host go there
/// first: in ranges where only rows of pairs are wanted, in any order, by keys of one column; while no key was looked
/// at, such offers are priced for a result of as many rows as the larger side. Reads of tables of the host null counts,
/// nothing else. Errors: no_device for a device without the compute path; those of resident_join_shape and
/// resident_join_strategies; usage, invalid_input, limit_exceeded with the reason why tables are not brought there.
Result<std::vector<contract::JoinOffer>> offer_whole_join(contract::JoinInquiry const& inquiry);

/// See JoinRow::join_whole. Errors: those of join_device_tables, streamed_join and of uploads.
Result<std::unique_ptr<JoinResult>> join_whole_tables(resolve::JoinRequest const& request,
                                                      contract::JoinOffer const& offer, Plan plan);

/// See JoinRow::count_whole. Errors: as above.
Result<Engine::Counted> count_whole_join(resolve::JoinRequest const& request, contract::JoinOffer const& offer,
                                         Plan plan);

}  // namespace garuda::placement
