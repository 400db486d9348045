// What group-bys on the CPU path cost.
#pragma once

#include <cstdint>

#include "garuda/group_by.hpp"
#include "operators/contract/cost_model.hpp"
#include "operators/contract/key_span.hpp"
#include "operators/contract/shapes.hpp"

namespace garuda::cpu {

/// How the CPU path cuts a table that it groups slice by slice.
struct SliceCut {
  std::uint32_t radix_bits = 0;
  std::uint64_t slice_rows = contract::kMaxPassRows;
};

/// `grouping`: not automatic. `slices`: of that grouping alone.
contract::PhaseCosts cpu_group_by_costs(contract::GroupByShape const& shape, Grouping grouping, SliceCut const& slices,
                                        rates::HostRates const& host);

}  // namespace garuda::cpu
