// Where the floats of a whole table's columns lie: a FixedPoint for each request whose sum is one of floats.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "garuda/error.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/cpu/group_by/accumulators.hpp"
#include "operators/cpu/group_by/floats/float_range.hpp"

namespace garuda::cpu {

/// From all values, in parallel on the threads of the calling task arena; nullopt when a column has none. Phase
/// reported: range. Errors: those of TableValues::read, cancelled.
Result<std::optional<std::vector<FixedPoint>>> find_fixed_points(contract::WholeTable const& table,
                                                                 contract::WholeGroupByOptions const& options);

/// From a few thousand values; nullopt when these already have none. Errors: those of TableValues::read.
Result<std::optional<std::vector<FixedPoint>>> guess_fixed_points(contract::WholeTable const& table);

/// Whether all values from block `first` on are where `points` have them. Otherwise as find_fixed_points.
Result<bool> rest_fits(contract::WholeTable const& table, std::vector<FixedPoint> const& points, std::size_t first,
                       contract::WholeGroupByOptions const& options);

}  // namespace garuda::cpu
