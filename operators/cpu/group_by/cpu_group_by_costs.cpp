#include "operators/cpu/group_by/cpu_group_by_costs.hpp"

#include <algorithm>

#include "operators/contract/group_by_terms.hpp"

namespace garuda::cpu {
namespace {

/// Bytes of a group that whole group-bys were measured with (a sum of 64 bits, and whether it has rows), of its place
/// in a hash table, and of a row that partitioning moved.
constexpr double kMeasuredDirectBytes = 9;
constexpr double kHashedBytes = 40;
constexpr double kMeasuredMovedBytes = 16;
/// A group that one thread merges out of a slice, in groups that all threads make.
constexpr double kMergedGroupShare = 2;

/// Groups of the calibration's size that a cache holds as many bytes of.
double measured_groups(double groups, double group_bytes, double measured_bytes) {
  return groups * group_bytes / measured_bytes;
}

double whole_ns(contract::GroupByShape const& shape, Grouping grouping, rates::HostRates const& host) {
  auto const rows = static_cast<double>(shape.rows);
  auto const sizes = shape.whole.value_or(contract::WholeSizes{});
  auto const bytes = static_cast<double>(sizes.group_bytes);
  auto const groups = contract::groups_of(shape);
  if (grouping == Grouping::direct) {
    // Every slot is cleared, merged and looked at, whether it has rows or not.
    auto const slots = measured_groups(static_cast<double>(sizes.slots), bytes, kMeasuredDirectBytes);
    return (rows / host.direct_rows.at(slots) + slots / host.direct_groups.at(slots)) * contract::kNs;
  }
  if (grouping == Grouping::local) {
    auto const size = measured_groups(groups, bytes + kHashedBytes, kMeasuredDirectBytes + kHashedBytes);
    return (rows / host.local_rows.at(size) + groups / host.local_groups.at(size)) * contract::kNs;
  }
  // Half of a row's time is moving it.
  auto const moved = 0.5 + 0.5 * static_cast<double>(sizes.row_bytes) / kMeasuredMovedBytes;
  return (rows * moved / host.partitioned_rows_grouped.at(groups) + groups / host.partitioned_groups.at(groups)) *
         contract::kNs;
}

/// Rows are partitioned by their ids, hashed, and each state column's values are fetched and added.
contract::PhaseCosts sliced_costs(contract::GroupByShape const& shape, SliceCut const& slices,
                                  rates::HostRates const& host) {
  auto const rows = static_cast<double>(shape.rows);
  auto const parts = contract::partitions(slices.radix_bits);
  auto const groups = std::max(contract::groups_of(shape) / parts, 1.0);
  auto const a_part = std::max(rows / parts / static_cast<double>(slices.slice_rows), 1.0);
  auto const fetched = slices.radix_bits == 0
                           ? 0
                           : rows * static_cast<double>(shape.requests.size()) / host.gathered_values.at(rows * 8);
  // Each value of a list is put where its group's are, in memory. Where groups of slices are merged, one thread does so
  // again with all that it has, slice by slice.
  auto const lists = std::ranges::count_if(shape.requests, [](contract::StateRequest const& request) {
    return (request.states & contract::kListState) != 0;
  });
  auto const listed = rows * static_cast<double>(lists) / host.gathered_values.at(rows * 8);
  auto const merged_lists = listed * (a_part - 1) * (a_part + 2) / (2 * a_part) * host.threads;
  // Each slice of a partition has its groups, which are merged.
  auto const merged = contract::groups_of(shape) * a_part;
  return {{"partition", contract::group_partition_ns(shape, slices.radix_bits, host)},
          {"group", rows / host.local_rows.at(groups) * contract::kNs + parts * a_part / host.threads * host.slice_ns},
          {"values", (fetched + listed) * contract::kNs},
          {"merge", (kMergedGroupShare * merged / host.local_groups.at(groups) + merged_lists) * contract::kNs}};
}

}  // namespace

contract::PhaseCosts cpu_group_by_costs(contract::GroupByShape const& shape, Grouping grouping, SliceCut const& slices,
                                        rates::HostRates const& host) {
  auto const rows = static_cast<double>(shape.rows);
  auto const width = 0.75 + 0.25 * std::max(contract::group_key_bytes(shape) / 4, 1.0);
  // One sum is what the rates were measured with.
  auto const more_states = std::max(static_cast<double>(shape.requests.size()) - 1, 0.0);
  auto const aggregate = rows * more_states / host.aggregated_rows.at(contract::groups_of(shape)) * contract::kNs;
  bool const is_sliced = grouping == Grouping::slices;
  auto costs =
      is_sliced ? sliced_costs(shape, slices, host) : contract::PhaseCosts{{"group", whole_ns(shape, grouping, host)}};
  for (auto& [phase, ns] : costs) ns *= width;
  auto& group = std::ranges::find(costs, "group", &contract::PhaseCosts::value_type::first)->second;
  // The rates were measured with keys to be encoded.
  auto const encode = contract::has_keys(shape) ? std::min(contract::encode_ns(rows, host), group) : 0.0;
  group += (is_sliced ? 0 : aggregate) - encode;
  costs.insert(costs.begin(), {{"start", host.query_ns}, {"encode", encode}});
  if (is_sliced) costs.emplace_back("aggregate", aggregate);
  return costs;
}

}  // namespace garuda::cpu
