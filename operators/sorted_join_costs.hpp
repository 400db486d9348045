// What the compute path's other methods cost, beside the partitioned join.
#pragma once

#include "operators/cost_model.hpp"

namespace garuda::operators {

/// The phases of the compute path with `method` (global or sorted), given those of the partitioned join, `costs`. The
/// formulas stand in docs/design.md.
PhaseCosts sorted_join_costs(PhaseCosts costs, JoinShape const& shape, JoinMethod method, DeviceCut const& cut,
                             DeviceRates const& rates);

}  // namespace garuda::operators
