// What joins on the CPU path cost. The formulas stand in docs/design.md.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "operators/cost_model.hpp"
#include "operators/shapes.hpp"
#include "operators/sizing.hpp"

namespace garuda::operators {

/// One way of a join on the CPU path.
struct CpuJoinWay {
  std::uint32_t radix_bits = 0;
  std::vector<std::size_t> carried;              ///< positions in JoinShape::output; none when radix_bits is 0
  std::uint64_t chunk_rows = kLargestChunkRows;  ///< most rows of a batch
  BuildSide build = BuildSide::automatic;        ///< the smaller side of each partition, or always one

  bool carries(std::size_t column) const { return std::ranges::find(carried, column) != carried.end(); }
};

/// Rows of the batches that take least time to make; a task makes no more of them than it has.
std::uint64_t cpu_chunk_rows(JoinShape const& shape, HostRates const& host);

PhaseCosts cpu_join_costs(JoinShape const& shape, CpuJoinWay const& way, HostRates const& host);

}  // namespace garuda::operators
