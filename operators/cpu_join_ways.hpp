// The ways of the CPU path to join that the planner chooses from: radix bits, payload strategy, chunk size.
#pragma once

#include <cstdint>
#include <vector>

#include "garuda/join.hpp"
#include "operators/cost_model.hpp"
#include "operators/join_planner.hpp"

namespace garuda::operators {

struct PricedCpuJoin {
  CpuJoinWay way;
  PhaseCosts costs;
};

/// Every way that `tuning` leaves open and `most_host_bytes` (0: no limit) allows, priced: radix bits from 0 in steps
/// of two while partitions keep some rows; with each, columns gathered by row id or carried through the partitioning,
/// as far as that costs less; the cheapest side to build on and chunk size. Never empty: when carrying is asked for and
/// not allowed, columns are gathered.
std::vector<PricedCpuJoin> cpu_join_ways(JoinShape const& shape, JoinTuning const& tuning, HostRates const& host,
                                         std::uint64_t most_host_bytes);

/// Bytes of the partitioned keys and of the payload carried with them; `encoded_bytes` are not among them.
std::uint64_t partitioned_bytes(JoinShape const& shape, CpuJoinWay const& way);

}  // namespace garuda::operators
