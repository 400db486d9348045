// What joins and group-bys through the graphics pipeline cost. The formulas stand in docs/design.md.
#pragma once

#include <string>

#include "garuda/join.hpp"
#include "operators/cost_model.hpp"
#include "operators/shapes.hpp"

namespace garuda::operators {

/// One way of a join through the graphics pipeline.
struct GraphicsWay {
  Address address = Address::hash;
  Storage storage = Storage::stack;
  Probe probe = Probe::output;
  Matching matching = Matching::draw;
  Counting counting = Counting::blend;  ///< of statistics and, where matches are drawn, of stack counts
};
/// "address=direct,storage=runs,probe=output", "…,matching=compute,counting=compute".
std::string to_string(GraphicsWay const& way);

PhaseCosts graphics_join_costs(JoinShape const& shape, GraphicsWay const& way, DeviceCut const& cut,
                               DeviceRates const& rates, HostRates const& host);
PhaseCosts graphics_group_by_costs(GroupByShape const& shape, DeviceCut const& cut, DeviceRates const& rates,
                                   HostRates const& host);

}  // namespace garuda::operators
