// What joins on the CPU path cost.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "operators/contract/cost_model.hpp"
#include "operators/contract/shapes.hpp"
#include "operators/contract/sizing.hpp"

namespace garuda::cpu {

/// One way of a join on the CPU path.
struct CpuJoinWay {
  std::uint32_t radix_bits = 0;
  std::vector<std::size_t> carried;  ///< positions in JoinShape::output; none when radix_bits is 0
  std::uint64_t chunk_rows = contract::kLargestChunkRows;  ///< most rows of a batch
  BuildSide build = BuildSide::automatic;                  ///< the smaller side of each partition, or always one
  bool by_bitmap = false;                                  ///< of the right keys, without partitions

  bool carries(std::size_t column) const { return std::ranges::find(carried, column) != carried.end(); }
};

/// Rows of the batches that take least time to make; a task makes no more of them than it has.
std::uint64_t cpu_chunk_rows(contract::JoinShape const& shape, rates::HostRates const& host);

contract::PhaseCosts cpu_join_costs(contract::JoinShape const& shape, CpuJoinWay const& way,
                                    rates::HostRates const& host);

}  // namespace garuda::cpu
