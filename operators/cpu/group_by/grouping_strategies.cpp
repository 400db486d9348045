#include "operators/cpu/group_by/grouping_strategies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "operators/contract/offers/costs.hpp"
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
/// Bytes of a group that whole group-bys were measured with (a sum of 64 bits, and whether it has rows), of its place
/// in a hash table, and of a row that partitioning moved.
constexpr double kMeasuredDirectBytes = 9;
constexpr double kHashedBytes = 40;
constexpr double kMeasuredMovedBytes = 16;
/// A group that one thread merges out of a slice costs so many groups that all threads make.
constexpr double kMergedGroupShare = 2;

/// Bytes of a row that partitioning moves: twice over, since what was there before stays.
std::uint64_t partitioned_row_bytes(contract::WholeTable const& table, contract::KeySpan const& keys) {
  std::uint64_t bytes = std::holds_alternative<std::span<std::uint32_t const>>(keys.words) ? 4 : 8;
  bytes += 8 * table.more_words.size();
  bytes += table.num_rows > (std::uint64_t{1} << 32) ? 8 : 4;
  for (auto const& request : table.requests) bytes += 4 * std::uint64_t{contract::value_words(request.kind)};
  return bytes + kept_row_bytes(table.requests);
}

/// A group-by to be priced. `slices` is its offer in slices, with what all strategies have in common.
struct Query {
  contract::GroupByShape const& shape;
  rates::HostRates const& host;
  contract::GroupByOffer const& slices;
  contract::WholeSizes sizes;

  double rows() const noexcept { return static_cast<double>(shape.rows); }
  double groups() const noexcept { return contract::groups_of(shape); }
  bool has_direct_slots() const { return sizes.slots != 0 && sizes.slots <= kMostDirectSlots; }
  /// Groups of the calibration's size that a cache holds as many bytes of.
  double measured_groups(double groups, double more_bytes) const {
    return groups * (static_cast<double>(sizes.group_bytes) + more_bytes) / (kMeasuredDirectBytes + more_bytes);
  }
};

double ns_of(double rows, rates::RateCurve const& row_rate, double groups, rates::RateCurve const& group_rate,
             double size) {
  return (rows / row_rate.at(size) + groups / group_rate.at(size)) * contract::kNs;
}

/// Every slot is cleared, merged and looked at, whether it has rows or not.
contract::PhaseCosts direct_costs(Query const& query) {
  auto const slots = query.measured_groups(static_cast<double>(query.sizes.slots), 0);
  return {{"group", ns_of(query.rows(), query.host.direct_rows, slots, query.host.direct_groups, slots)}};
}

contract::PhaseCosts local_costs(Query const& query) {
  auto const size = query.measured_groups(query.groups(), kHashedBytes);
  return {{"group", ns_of(query.rows(), query.host.local_rows, query.groups(), query.host.local_groups, size)}};
}

/// Half of a row's time is moving it.
contract::PhaseCosts partitioned_costs(Query const& query) {
  auto const moved = 0.5 + 0.5 * static_cast<double>(query.sizes.row_bytes) / kMeasuredMovedBytes;
  return {{"group", ns_of(query.rows() * moved, query.host.partitioned_rows_grouped, query.groups(),
                          query.host.partitioned_groups, query.groups())}};
}

/// Rows are partitioned by their ids, hashed, and each state column's values are fetched and added.
contract::PhaseCosts sliced_costs(Query const& query) {
  auto const& [shape, host, slices, sizes] = query;
  auto const rows = query.rows();
  auto const parts = contract::partitions(slices.radix_bits);
  auto const groups = std::max(query.groups() / parts, 1.0);
  auto const a_part = std::max(rows / parts / static_cast<double>(slices.slice_rows), 1.0);
  auto const values_per_s = host.gathered_values.at(rows * 8);
  auto const fetched = slices.radix_bits == 0 ? 0 : rows * static_cast<double>(shape.requests.size()) / values_per_s;
  // Each value of a list is put where its group's are, in memory. Where groups of slices are merged, one thread does so
  // again with all that it has, slice by slice.
  auto const lists = std::ranges::count_if(shape.requests, [](contract::StateRequest const& request) {
    return (request.states & contract::kListState) != 0;
  });
  auto const listed = rows * static_cast<double>(lists) / values_per_s;
  auto const merged_lists = listed * (a_part - 1) * (a_part + 2) / (2 * a_part) * host.threads;
  // Each slice of a partition has its groups, which are merged.
  auto const merged = query.groups() * a_part;
  return {{"partition", contract::group_partition_ns(shape, slices.radix_bits, host)},
          {"group", rows / host.local_rows.at(groups) * contract::kNs + parts * a_part / host.threads * host.slice_ns},
          {"values", (fetched + listed) * contract::kNs},
          {"merge", (kMergedGroupShare * merged / host.local_groups.at(groups) + merged_lists) * contract::kNs}};
}

/// The rows of local tables may have to be partitioned all the same.
std::uint64_t moved_bytes(Query const& query) {
  return query.shape.rows * query.sizes.row_bytes + std::uint64_t{query.shape.threads} * 2 * kLocalTableBytes;
}

/// One strategy.
struct Strategy {
  Grouping grouping = Grouping::slices;
  std::uint64_t (*bytes)(Query const& query);  ///< host memory beside the table, its keys and the result
  std::string (*describe)(Query const& query);
  contract::PhaseCosts (*costs)(Query const& query);  ///< those of one sum, by keys of one word
};

/// In the order in which they are offered.
constexpr std::array kStrategies{
    Strategy{Grouping::direct,
             [](Query const& query) {
               return std::uint64_t{query.shape.threads} * query.sizes.slots * query.sizes.group_bytes;
             },
             [](Query const& query) {
               return fmt::format("accumulators for {} keys in each of {} threads", query.sizes.slots,
                                  query.shape.threads);
             },
             direct_costs},
    Strategy{Grouping::local, moved_bytes,
             [](Query const& query) {
               return fmt::format("about {} groups in a hash table in each of {} threads", query.shape.estimated_groups,
                                  query.shape.threads);
             },
             local_costs},
    Strategy{Grouping::partitioned, moved_bytes,
             [](Query const& query) {
               return fmt::format("about {} groups, keys partitioned with {} bytes a row", query.shape.estimated_groups,
                                  query.sizes.row_bytes);
             },
             partitioned_costs},
    // The planner knows the sizes of slices.
    Strategy{Grouping::slices, [](Query const&) { return std::uint64_t{0}; },
             [](Query const& query) {
               return fmt::format("{} partitions, slices of at most {} rows",
                                  std::uint64_t{1} << query.slices.radix_bits, query.slices.slice_rows);
             },
             sliced_costs}};

Strategy const& strategy_of(Grouping grouping) {
  return *std::ranges::find(kStrategies, grouping, &Strategy::grouping);
}

/// The groupings that the tuning leaves open and `most_host_bytes` (0: no limit) allows. Direct accumulators are left
/// out where they do not fit a core's second-level cache, unless nothing else fits the memory. Slices are never missing
/// unless another is asked for. Errors: usage when the keys do not allow what is asked for.
Result<std::vector<Grouping>> groupings(Query const& query, GroupByTuning const& tuning,
                                        std::uint64_t most_host_bytes) {
  auto const& shape = query.shape;
  auto const wanted = tuning.grouping;
  // All values of a group are in one place in a partition alone: tables of several threads would have to merge them.
  bool const is_listed = std::ranges::any_of(shape.requests, keeps_all_values);
  bool const has_keys = shape.whole && shape.whole->has_keys;
  if (is_listed && (wanted == Grouping::direct || wanted == Grouping::local))
    return fail(
        ErrorCode::usage,
        "only grouping=partitioned and grouping=slices keep all values of groups, as some of the aggregates want");
  if (wanted == Grouping::slices || !shape.whole || (is_listed && !has_keys)) return std::vector{Grouping::slices};
  if (wanted == Grouping::direct && !query.has_direct_slots())
    return fail(ErrorCode::usage,
                fmt::format("grouping=direct needs a key range of at most {} values", kMostDirectSlots));
  if (!has_keys) return std::vector{Grouping::direct};
  if (wanted != Grouping::automatic) return std::vector{wanted};
  if (tuning.radix_bits >= 0 || tuning.slice_rows != 0) return std::vector{Grouping::slices};
  auto const fits = [&](Grouping grouping) {
    return most_host_bytes == 0 || strategy_of(grouping).bytes(query) <= most_host_bytes;
  };
  bool const is_steady = query.sizes.slots * query.sizes.group_bytes <= kSteadyDirectBytes;
  bool const takes_direct = query.has_direct_slots() && (is_steady || !fits(Grouping::partitioned));
  std::vector<Grouping> open;
  if (takes_direct && !is_listed && fits(Grouping::direct)) open.push_back(Grouping::direct);
  if (!is_listed && fits(Grouping::local)) open.push_back(Grouping::local);
  if (fits(Grouping::partitioned)) open.push_back(Grouping::partitioned);
  open.push_back(Grouping::slices);
  return open;
}

/// The strategy's costs, with wider keys, further sums, and the encoding of keys in a phase of its own.
contract::PhaseCosts costs_of(Strategy const& strategy, Query const& query) {
  auto const& [shape, host, slices, sizes] = query;
  auto const width = 0.75 + 0.25 * std::max(contract::group_key_bytes(shape) / 4, 1.0);
  // One sum is what the rates were measured with.
  auto const more_states = std::max(static_cast<double>(shape.requests.size()) - 1, 0.0);
  auto const aggregate = query.rows() * more_states / host.aggregated_rows.at(query.groups()) * contract::kNs;
  bool const is_sliced = strategy.grouping == Grouping::slices;
  auto costs = strategy.costs(query);
  for (auto& [phase, ns] : costs) ns *= width;
  auto& group = std::ranges::find(costs, "group", &contract::PhaseCosts::value_type::first)->second;
  // The rates were measured with keys to be encoded.
  auto const encode = contract::has_keys(shape) ? std::min(contract::encode_ns(query.rows(), host), group) : 0.0;
  group += (is_sliced ? 0 : aggregate) - encode;
  costs.insert(costs.begin(), {{"start", host.query_ns}, {"encode", encode}});
  if (is_sliced) costs.emplace_back("aggregate", aggregate);
  return costs;
}

contract::GroupByOffer slices_offer(contract::GroupByInquiry const& inquiry) {
  auto const& shape = inquiry.shape;
  auto const& tuning = inquiry.options.tuning;
  contract::GroupByOffer offer;
  offer.candidate.path = Path::cpu;
  offer.candidate.device = "cpu";
  offer.candidate.reason = contract::source_of_host(inquiry.machine, shape.threads);
  offer.tuning = tuning;
  offer.key_bits = shape.key_bits;
  offer.lanes = tuning.lanes != 0 ? tuning.lanes : shape.threads;
  auto const share = std::max(contract::slices_for(shape.rows, offer.lanes), contract::kSmallestGroupedSliceRows);
  offer.slice_rows = tuning.slice_rows != 0 ? tuning.slice_rows : std::min(share, contract::kMaxPassRows);
  if (tuning.radix_bits >= 0)
    offer.radix_bits = static_cast<std::uint32_t>(tuning.radix_bits);
  else
    offer.radix_bits =
        std::max(contract::bits_against_merging(shape, offer.slice_rows),
                 contract::has_keys(shape) ? contract::radix_bits_for(shape.estimated_groups, kCpuPartitionGroups) : 0);
  return offer;
}

}  // namespace

Result<contract::GroupByOffers> cpu_group_by_offers(contract::GroupByInquiry const& inquiry) {
  auto const slices = slices_offer(inquiry);
  Query const query{inquiry.shape, inquiry.host, slices, inquiry.shape.whole.value_or(contract::WholeSizes{})};
  GARUDA_TRY_ASSIGN(auto const open, groupings(query, inquiry.options.tuning,
                                               contract::most_host_bytes(inquiry.shape, inquiry.options) / 2));
  contract::GroupByOffers offers;
  for (auto const grouping : open) {
    auto const& strategy = strategy_of(grouping);
    auto& offer = offers.list.emplace_back(slices);
    offer.candidate.choices = fmt::format("grouping={}", to_string(grouping));
    if (grouping == Grouping::slices) offer.candidate.choices += fmt::format(",radix_bits={}", slices.radix_bits);
    contract::set_phases(offer.candidate, costs_of(strategy, query));
    offer.grouping = grouping;
    offer.host_bytes = strategy.bytes(query);
    offer.details.emplace_back("grouping", fmt::format("{}: {}", to_string(grouping), strategy.describe(query)));
  }
  return offers;
}

contract::WholeSizes whole_sizes(contract::WholeTable const& table) {
  contract::WholeSizes sizes;
  sizes.group_bytes = state_bytes(table.requests, table.wants_first_rows);
  if (auto const* keys = std::get_if<contract::KeySpan>(&table.keys)) {
    sizes.has_keys = true;
    sizes.slots = table.more_words.empty() ? ((keys->max - keys->min) >> shift_of(table)) + 1 : 0;
    sizes.row_bytes = partitioned_row_bytes(table, *keys);
  }
  return sizes;
}

}  // namespace garuda::cpu
