// The ways of the CPU path to group.
#include "operators/cpu/group_by/cpu_group_by_offers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "operators/contract/group_by_sizes.hpp"
#include "operators/cpu/group_by/cpu_group_by_costs.hpp"
#include "operators/cpu/group_by/group_table.hpp"
#include "operators/cpu/group_by/whole_group_by.hpp"

namespace garuda::cpu {
namespace {

/// Groups of a CPU partition: keys, table and states stay within a core's share of the last-level cache.
constexpr std::uint64_t kCpuPartitionGroups = std::uint64_t{1} << 16;
/// Bytes of a thread's accumulators that lie in its core's second-level cache. Beyond, they lie in the last level,
/// which belongs to others too, so that a calibrated rate says little (2-core AMD EPYC of 1 MiB a core, 2^26 rows of
/// 2^18 and 2^20 groups, 2026-11-21: beside busy neighbours 0.82 and 1.1 to 1.6 s direct, 0.35 and 0.36 to 0.43 s
/// partitioned; undisturbed 0.2 s either way).
constexpr std::uint64_t kSteadyDirectBytes = std::uint64_t{1} << 20;

struct PricedCpuGroupBy {
  Grouping grouping = Grouping::slices;
  std::uint64_t bytes = 0;  ///< host memory beside the table, its keys and the result; of slices the planner knows
  std::string reason;
  contract::PhaseCosts costs;
};

class WayList {
 public:
  WayList(contract::GroupByShape const& shape, rates::HostRates const& host, SliceCut const& slices)
      : shape_(shape), host_(host), slices_(slices), sizes_(shape.whole.value_or(contract::WholeSizes{})) {}

  PricedCpuGroupBy way(Grouping grouping) const {
    return {grouping, bytes(grouping), reason(grouping), cpu_group_by_costs(shape_, grouping, slices_, host_)};
  }

  bool has_direct_slots() const { return sizes_.slots != 0 && sizes_.slots <= kMostDirectSlots; }
  bool has_steady_direct_slots() const {
    return has_direct_slots() && sizes_.slots * sizes_.group_bytes <= kSteadyDirectBytes;
  }

  std::uint64_t bytes(Grouping grouping) const {
    auto const threads = std::uint64_t{shape_.threads};
    switch (grouping) {
      case Grouping::direct:
        return threads * sizes_.slots * sizes_.group_bytes;
      case Grouping::local:  // its rows may have to be partitioned all the same
      case Grouping::partitioned:
        return shape_.rows * sizes_.row_bytes + threads * 2 * kLocalTableBytes;
      case Grouping::slices:
      case Grouping::automatic:
        break;
    }
    return 0;
  }

 private:
  std::string reason(Grouping grouping) const {
    switch (grouping) {
      case Grouping::direct:
        return fmt::format("accumulators for {} keys in each of {} threads", sizes_.slots, shape_.threads);
      case Grouping::local:
        return fmt::format("about {} groups in a hash table in each of {} threads", shape_.estimated_groups,
                           shape_.threads);
      case Grouping::partitioned:
        return fmt::format("about {} groups, keys partitioned with {} bytes a row", shape_.estimated_groups,
                           sizes_.row_bytes);
      case Grouping::slices:
      case Grouping::automatic:
        break;
    }
    return fmt::format("{} partitions, slices of at most {} rows", std::uint64_t{1} << slices_.radix_bits,
                       slices_.slice_rows);
  }

  contract::GroupByShape const& shape_;
  rates::HostRates const& host_;
  SliceCut const& slices_;
  contract::WholeSizes sizes_;
};

/// Every way that `tuning` leaves open and `most_host_bytes` (0: no limit) allows, priced:
///   direct       accumulators for the whole key range in every thread, while they fit a core's second-level cache or
///                nothing else fits the memory
///   local        a hash table in every thread; gives way to the next when it no longer brings rows together
///   partitioned  keys and values radix-partitioned, then one table a partition
///   slices       not at once, but slice by slice through GroupByKernel, cut as `slices` says; never missing unless
///                another is asked for
/// Errors: usage when the keys do not allow what is asked for.
Result<std::vector<PricedCpuGroupBy>> cpu_group_by_ways(contract::GroupByShape const& shape,
                                                        GroupByTuning const& tuning, rates::HostRates const& host,
                                                        SliceCut const& slices, std::uint64_t most_host_bytes) {
  WayList const list(shape, host, slices);
  auto const wanted = tuning.grouping;
  std::vector<PricedCpuGroupBy> ways;
  // All values of a group are in one place in a partition alone: tables of several threads would have to merge them.
  bool const is_listed = std::ranges::any_of(shape.requests, keeps_all_values);
  bool const has_keys = shape.whole && shape.whole->has_keys;
  if (is_listed && (wanted == Grouping::direct || wanted == Grouping::local))
    return fail(
        ErrorCode::usage,
        "only grouping=partitioned and grouping=slices keep all values of groups, as some of the aggregates want");
  if (wanted == Grouping::slices || !shape.whole || (is_listed && !has_keys)) {
    ways.push_back(list.way(Grouping::slices));
    return ways;
  }
  if (wanted == Grouping::direct && !list.has_direct_slots())
    return fail(ErrorCode::usage,
                fmt::format("grouping=direct needs a key range of at most {} values", kMostDirectSlots));
  if (wanted != Grouping::automatic || !shape.whole->has_keys) {
    ways.push_back(list.way(shape.whole->has_keys ? wanted : Grouping::direct));
    return ways;
  }
  auto const is_sliced = tuning.radix_bits >= 0 || tuning.slice_rows != 0;
  auto const fits = [&](Grouping grouping) {
    return !is_sliced && (most_host_bytes == 0 || list.bytes(grouping) <= most_host_bytes);
  };
  auto const takes_direct = list.has_steady_direct_slots() || (list.has_direct_slots() && !fits(Grouping::partitioned));
  if (takes_direct && !is_listed && fits(Grouping::direct)) ways.push_back(list.way(Grouping::direct));
  if (!is_listed && fits(Grouping::local)) ways.push_back(list.way(Grouping::local));
  if (fits(Grouping::partitioned)) ways.push_back(list.way(Grouping::partitioned));
  ways.push_back(list.way(Grouping::slices));
  return ways;
}

contract::GroupByOffer size_for_cpu(contract::GroupByShape const& shape, GroupByTuning const& tuning) {
  contract::GroupByOffer sizing;
  sizing.tuning = tuning;
  sizing.lanes = tuning.lanes != 0 ? tuning.lanes : shape.threads;
  auto const share = std::max(contract::slices_for(shape.rows, sizing.lanes), contract::kSmallestGroupedSliceRows);
  sizing.slice_rows = tuning.slice_rows != 0 ? tuning.slice_rows : std::min(share, contract::kMaxPassRows);
  if (tuning.radix_bits >= 0)
    sizing.radix_bits = static_cast<std::uint32_t>(tuning.radix_bits);
  else
    sizing.radix_bits =
        std::max(contract::bits_against_merging(shape, sizing.slice_rows),
                 contract::has_keys(shape) ? contract::radix_bits_for(shape.estimated_groups, kCpuPartitionGroups) : 0);
  return sizing;
}

}  // namespace

Result<contract::GroupByOffers> cpu_group_by_offers(contract::GroupByInquiry const& inquiry) {
  auto const& shape = inquiry.shape;
  auto const& options = inquiry.options;
  auto sized = size_for_cpu(shape, options.tuning);
  GARUDA_TRY_ASSIGN(auto priced,
                    cpu_group_by_ways(shape, options.tuning, inquiry.host, {sized.radix_bits, sized.slice_rows},
                                      contract::most_host_bytes(shape, options) / 2));
  contract::GroupByOffers offers;
  for (auto& way : priced) {
    auto& offer = offers.list.emplace_back(sized);
    auto& candidate = offer.candidate;
    candidate.path = Path::cpu;
    candidate.device = "cpu";
    candidate.choices = fmt::format("grouping={}", to_string(way.grouping));
    if (way.grouping == Grouping::slices) candidate.choices += fmt::format(",radix_bits={}", sized.radix_bits);
    candidate.reason = contract::source_of_host(inquiry.machine, shape.threads);
    contract::set_phases(candidate, std::move(way.costs));
    offer.key_bits = shape.key_bits;
    offer.grouping = way.grouping;
    offer.host_bytes = way.bytes;
    offer.details.emplace_back("grouping", fmt::format("{}: {}", to_string(way.grouping), way.reason));
  }
  return offers;
}

}  // namespace garuda::cpu
