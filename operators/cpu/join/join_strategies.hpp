// The strategies of the CPU path to join: radix bits, the side to build on, whether payload moves with its keys, or a
// bitmap in place of tables; and what each of them costs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "garuda/error.hpp"
#include "operators/contract/offers/costs.hpp"
#include "operators/contract/offers/offer.hpp"

namespace garuda::cpu {

struct JoinStrategy {
  std::uint32_t radix_bits = 0;
  std::vector<std::size_t> carried{};  ///< positions in JoinShape::output; none when radix_bits is 0
  std::uint64_t chunk_rows = contract::kLargestChunkRows;  ///< most rows of a batch
  BuildSide build = BuildSide::automatic;                  ///< the smaller side of each partition, or always one
  bool by_bitmap = false;                                  ///< of the right keys, without partitions

  bool carries(std::size_t column) const { return std::ranges::find(carried, column) != carried.end(); }
};

contract::PhaseCosts cpu_join_costs(contract::JoinShape const& shape, JoinStrategy const& strategy,
                                    rates::HostRates const& host);

/// Never empty; see JoinRow::offers. Errors: usage for method=bitmap where no bitmap says what is asked for.
Result<contract::JoinOffers> cpu_join_offers(contract::JoinInquiry const& inquiry);

}  // namespace garuda::cpu
