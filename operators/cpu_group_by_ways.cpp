#include "operators/cpu_group_by_ways.hpp"

#include <fmt/format.h>

#include <utility>

namespace garuda::operators {
namespace {

/// Bytes of a thread's accumulators that lie in its core's second-level cache. Beyond, they lie in the last level,
/// which belongs to others too, so that a calibrated rate says little (2-core AMD EPYC of 1 MiB a core, 2^26 rows of
/// 2^18 and 2^20 groups, 2026-11-21: beside busy neighbours 0.82 and 1.1 to 1.6 s direct, 0.35 and 0.36 to 0.43 s
/// partitioned; undisturbed 0.2 s either way).
constexpr std::uint64_t kSteadyDirectBytes = std::uint64_t{1} << 20;

class WayList {
 public:
  WayList(GroupByShape const& shape, HostRates const& host, SliceCut const& slices)
      : shape_(shape), host_(host), slices_(slices), sizes_(shape.whole.value_or(WholeSizes{})) {}

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

  GroupByShape const& shape_;
  HostRates const& host_;
  SliceCut const& slices_;
  WholeSizes sizes_;
};

}  // namespace

Result<std::vector<PricedCpuGroupBy>> cpu_group_by_ways(GroupByShape const& shape, GroupByTuning const& tuning,
                                                        HostRates const& host, SliceCut const& slices,
                                                        std::uint64_t most_host_bytes) {
  WayList const list(shape, host, slices);
  auto const wanted = tuning.grouping;
  std::vector<PricedCpuGroupBy> ways;
  if (shape.key_words > 0 && wanted != Grouping::automatic && wanted != Grouping::slices)
    return fail(ErrorCode::usage, "only grouping=slices takes keys of several words");
  if (wanted == Grouping::slices || !shape.whole) {
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
  if (takes_direct && fits(Grouping::direct)) ways.push_back(list.way(Grouping::direct));
  for (auto const grouping : {Grouping::local, Grouping::partitioned})
    if (fits(grouping)) ways.push_back(list.way(grouping));
  ways.push_back(list.way(Grouping::slices));
  return ways;
}

}  // namespace garuda::operators
