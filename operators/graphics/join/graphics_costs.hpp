// Costs of joins and group-bys through the graphics pipeline.
#pragma once

#include <string>

#include "garuda/join.hpp"
#include "operators/contract/cost_model.hpp"
#include "operators/contract/shapes.hpp"

namespace garuda::graphics {

/// A strategy of a join through the graphics pipeline.
struct GraphicsStrategy {
  Address address = Address::hash;
  Storage storage = Storage::stack;
  Probe probe = Probe::output;
  Matching matching = Matching::draw;
  bool blends = true;  ///< statistics and stack counts are blended, else added up by compute passes
};
/// "address=direct,storage=runs,probe=output", "…,matching=compute".
std::string to_string(GraphicsStrategy const& strategy);

contract::PhaseCosts graphics_join_costs(contract::JoinShape const& shape, GraphicsStrategy const& strategy,
                                         contract::DeviceCut const& cut, rates::DeviceRates const& rates,
                                         rates::HostRates const& host);

/// Points a row that the states of a group-by take, about.
std::uint32_t draws_a_row(contract::GroupByShape const& shape) noexcept;
contract::PhaseCosts graphics_group_by_costs(contract::GroupByShape const& shape, contract::DeviceCut const& cut,
                                             rates::DeviceRates const& rates, rates::HostRates const& host);

}  // namespace garuda::graphics
