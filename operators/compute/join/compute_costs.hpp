// Costs of joins and group-bys in slices by compute passes.
#pragma once

#include "garuda/join.hpp"
#include "operators/contract/offers/costs.hpp"
#include "operators/contract/offers/shapes.hpp"

namespace garuda::compute {

/// `method`: not automatic. `scattered_bits`: of partitioned, the bits by which the host scatters slices; 0: the device
/// does.
contract::PhaseCosts compute_join_costs(contract::JoinShape const& shape, contract::DeviceCut const& cut,
                                        rates::DeviceRates const& rates, rates::HostRates const& host,
                                        JoinMethod method = JoinMethod::partitioned, std::uint32_t scattered_bits = 0);
contract::PhaseCosts compute_group_by_costs(contract::GroupByShape const& shape, contract::DeviceCut const& cut,
                                            rates::DeviceRates const& rates, rates::HostRates const& host);

}  // namespace garuda::compute
