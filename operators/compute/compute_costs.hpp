// What joins and group-bys in slices cost by compute passes. The formulas stand in docs/design.md.
#pragma once

#include "garuda/join.hpp"
#include "operators/cost_model.hpp"
#include "operators/shapes.hpp"

namespace garuda::operators {

/// `method`: not automatic.
PhaseCosts compute_join_costs(JoinShape const& shape, DeviceCut const& cut, DeviceRates const& rates,
                              HostRates const& host, JoinMethod method = JoinMethod::partitioned);
PhaseCosts compute_group_by_costs(GroupByShape const& shape, DeviceCut const& cut, DeviceRates const& rates,
                                  HostRates const& host);

}  // namespace garuda::operators
