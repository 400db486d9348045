// Rows that a join will not match, left out before they are grouped.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "garuda/table.hpp"
#include "operators/query/bind.hpp"

namespace garuda::query {

/// The probe side of a join whose build side is `built`, with a semi join below its group-by: groups whose keys `built`
/// does not have are not made. `keys`: columns of the probe side and of `built`. nullopt: there is no group-by by any
/// of these columns, or it reads too few rows for a further probe of each to pay.
std::optional<Bound> with_semi_filter(Bound const& probe, TableView built,
                                      std::vector<std::pair<std::size_t, std::size_t>> keys, bool nulls_equal);

}  // namespace garuda::query
