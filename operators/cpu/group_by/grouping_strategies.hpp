// The strategies of the CPU path to group:
//   direct       accumulators for the whole key range in every thread
//   local        a hash table in every thread, which gives way to the next when it no longer brings rows together
//   partitioned  keys and values radix-partitioned, then one table a partition
//   slices       slice by slice through GroupByKernel
#pragma once

#include "garuda/error.hpp"
#include "operators/contract/offers/offer.hpp"

namespace garuda::cpu {

/// See GroupByRow::offers. Errors: usage when the keys do not allow what is asked for.
Result<contract::GroupByOffers> cpu_group_by_offers(contract::GroupByInquiry const& inquiry);

/// The sizes by which groupings of the whole `table` are priced.
contract::WholeSizes whole_sizes(contract::WholeTable const& table);

}  // namespace garuda::cpu
