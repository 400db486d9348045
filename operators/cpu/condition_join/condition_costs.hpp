// What joins without keys cost on the CPU path.
#pragma once

#include <cstdint>
#include <optional>

#include "operators/contract/cost_model.hpp"
#include "operators/contract/shapes.hpp"

namespace garuda::cpu {

/// One way of such a join on the CPU path.
struct ConditionWay {
  JoinMethod method = JoinMethod::nested_loops;
  Side build = Side::right;
  double compared_pairs = 0;  ///< all of both sides', or those that the sorted column leaves
  std::uint64_t slice_rows = 0;
  std::uint64_t chunk_rows = 0;
};

/// A pair that is compared, on one thread.
double compared_pair_ns(contract::JoinShape const& shape, ConditionWay const& way);

contract::PhaseCosts cpu_condition_costs(contract::JoinShape const& shape, ConditionWay const& way,
                                         rates::HostRates const& host);

}  // namespace garuda::cpu
