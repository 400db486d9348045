// Group-bys of a table that is on a device whole: it lives there, or its columns go there first.
#pragma once

#include <memory>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "operators/contract/offers/offer.hpp"
#include "operators/resolve/group_by_columns.hpp"

namespace garuda::placement {

/// Offers the one way to group shape.table whole on the inquiry's device. The strategy of the passes follows from a
/// sample of the keys as they run. While no key was looked at, the offer is priced for half as many groups as rows.
/// Reads null counts, nothing else of the table. Errors: no_device for a device without the compute path; invalid_input
/// for columns of a table there that are not grouped there; usage, limit_exceeded with the reason why a table is not
/// brought there.
Result<std::vector<contract::GroupByOffer>> offer_whole_group_by(contract::GroupByInquiry const& inquiry);

/// See GroupByRow::group_whole. Of a table of the host, the columns that are read go up first, from pinned memory
/// without the host; they are grouped as those of a resident table are, and the first groups are on their way down when
/// this returns. Errors: those of Engine::group_by of device tables; limit_exceeded, out_of_memory (before any group),
/// device_failure, cancelled.
Result<std::unique_ptr<GroupByResult>> group_whole_table(resolve::GroupByRequest const& request,
                                                         contract::GroupByOffer const& offer, Plan plan);

}  // namespace garuda::placement
