// What group-bys on the CPU path cost. The formulas stand in docs/design.md.
#pragma once

#include <cstdint>

#include "garuda/group_by.hpp"
#include "operators/cost_model.hpp"
#include "operators/key_span.hpp"
#include "operators/shapes.hpp"

namespace garuda::operators {

/// How the CPU path cuts a table that it groups slice by slice.
struct SliceCut {
  std::uint32_t radix_bits = 0;
  std::uint64_t slice_rows = kMaxPassRows;
};

/// `grouping`: not automatic. `slices`: of that grouping alone.
PhaseCosts cpu_group_by_costs(GroupByShape const& shape, Grouping grouping, SliceCut const& slices,
                              HostRates const& host);

}  // namespace garuda::operators
