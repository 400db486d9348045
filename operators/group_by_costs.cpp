// What every way to group a table costs.
#include <algorithm>

#include "operators/cost_model.hpp"
#include "operators/cost_terms.hpp"
#include "operators/cpu/whole_group_by.hpp"

namespace garuda::operators {
namespace {

/// Submissions of a slice, each waited for before the host goes on: sizes are known exactly before they are used.
constexpr double kGroupBySubmissions = 10;
/// Readings and writings of a table's columns that grouping it on a device takes, at most of the ways, and accesses to
/// a group; lanes that are opened; and what taking memory, waiting for sizes and ending threads take besides. The last
/// three of an H200, 2^27 rows into 2^16 and 2^24 groups (2026-11-21).
constexpr double kStreamedGroupPasses = 5;
constexpr double kStreamedGroupAccesses = 20;
constexpr double kStreamedGroupLanes = 3;
constexpr double kStreamedGroupNs = 5.3e6;
/// Batches of groups go to memory that is new to the process, at half the pace of copies to memory that is not.
constexpr double kNewMemoryShare = 0.5;
/// Bytes of a group that whole group-bys were measured with (a sum of 64 bits, and whether it has rows), of its place
/// in a hash table, and of a row that partitioning moved.
constexpr double kMeasuredDirectBytes = 9;
constexpr double kHashedBytes = 40;
constexpr double kMeasuredMovedBytes = 16;
/// A group that one thread merges out of a slice, in groups that all threads make.
constexpr double kMergedShare = 2;

/// Groups of a device's slices on the host: merged where there are several slices, then finished, by one thread (Intel
/// Xeon beside an H200, 2^16 to 2^22 groups of one sum, 2026-11-21).
constexpr double kMergedGroupNs = 85;
constexpr double kFinishedGroupNs = 35;

double group_key_bytes(GroupByShape const& shape) { return shape.key_bits / 8.0 + 4.0 * shape.key_words; }

double group_partition_ns(GroupByShape const& shape, std::uint32_t bits, HostRates const& host) {
  auto const row_bytes = std::max(shape.key_bits / 8.0, 4.0) + (shape.wide_row_ids ? 8 : 4);
  return partition_ns(static_cast<double>(shape.rows), row_bytes, bits, host);
}

double groups_of(GroupByShape const& shape) { return static_cast<double>(shape.estimated_groups); }

/// Groups of the calibration's size that a cache holds as many bytes of.
double measured_groups(double groups, double group_bytes, double measured_bytes) {
  return groups * group_bytes / measured_bytes;
}

double whole_ns(GroupByShape const& shape, Grouping grouping, HostRates const& host) {
  auto const rows = static_cast<double>(shape.rows);
  auto const sizes = shape.whole.value_or(WholeSizes{});
  auto const bytes = static_cast<double>(sizes.group_bytes);
  auto const groups = groups_of(shape);
  if (grouping == Grouping::direct) {
    // Every slot is cleared, merged and looked at, whether it has rows or not.
    auto const slots = measured_groups(static_cast<double>(sizes.slots), bytes, kMeasuredDirectBytes);
    return (rows / host.direct_rows.at(slots) + slots / host.direct_groups.at(slots)) * kNs;
  }
  if (grouping == Grouping::local) {
    auto const size = measured_groups(groups, bytes + kHashedBytes, kMeasuredDirectBytes + kHashedBytes);
    return (rows / host.local_rows.at(size) + groups / host.local_groups.at(size)) * kNs;
  }
  // Half of a row's time is moving it.
  auto const moved = 0.5 + 0.5 * static_cast<double>(sizes.row_bytes) / kMeasuredMovedBytes;
  return (rows * moved / host.partitioned_rows_grouped.at(groups) + groups / host.partitioned_groups.at(groups)) * kNs;
}

/// Rows are partitioned by their ids, hashed, and each state column's values are fetched and added.
double sliced_ns(GroupByShape const& shape, SliceCut const& slices, HostRates const& host) {
  auto const rows = static_cast<double>(shape.rows);
  auto const parts = partitions(slices.radix_bits);
  auto const groups = std::max(groups_of(shape) / parts, 1.0);
  auto const a_part = std::max(rows / parts / static_cast<double>(slices.slice_rows), 1.0);
  auto const fetched = slices.radix_bits == 0 ? 0 : rows * shape.states / host.gathered_values.at(rows * 8);
  // Each slice of a partition has its groups, which are merged.
  auto const merged = groups_of(shape) * a_part;
  return group_partition_ns(shape, slices.radix_bits, host) +
         (rows / host.local_rows.at(groups) + fetched + kMergedShare * merged / host.local_groups.at(groups)) * kNs +
         parts * a_part / host.threads * host.slice_ns;
}

double device_merge_ns(GroupByShape const& shape, DeviceCut const& cut) {
  auto const parts = partitions(cut.radix_bits);
  auto const slices_a_part = std::max(static_cast<double>(cut.slices) / parts, 1.0);
  auto const merged = slices_a_part > 1 ? groups_of(shape) * slices_a_part : 0;
  return merged * kMergedGroupNs + groups_of(shape) * kFinishedGroupNs;
}

}  // namespace

PhaseCosts cpu_group_by_costs(GroupByShape const& shape, Grouping grouping, SliceCut const& slices,
                              HostRates const& host) {
  auto const rows = static_cast<double>(shape.rows);
  auto const width = 0.75 + 0.25 * std::max(group_key_bytes(shape) / 4, 1.0);
  auto const ns = grouping == Grouping::slices ? sliced_ns(shape, slices, host) : whole_ns(shape, grouping, host);
  // One sum is what the rates were measured with.
  auto const more_states = shape.states > 1 ? shape.states - 1.0 : 0.0;
  return {{"start", host.query_ns},
          {"group", ns * width},
          {"aggregate", rows * more_states / host.aggregated_rows.at(groups_of(shape)) * kNs}};
}

PhaseCosts graphics_group_by_costs(GroupByShape const& shape, DeviceCut const& cut, DeviceRates const& whole_rates,
                                   HostRates const& host) {
  auto const rows = static_cast<double>(shape.rows);
  auto const rates = calibration::rates_of_slices(whole_rates, rows / static_cast<double>(cut.slices));
  auto const groups = static_cast<double>(shape.estimated_groups);
  // Groups beyond one a pixel are drawn again, into the next image.
  auto const load = groups / std::max(cut.pixels, 1.0);
  auto const again = std::min(load / 2, 3.0);
  auto const uploaded = rows * (group_key_bytes(shape) + 4.0 * shape.value_words);
  return {{"start", host.query_ns},
          {"encode", encode_ns(rows, host)},
          {"partition", group_partition_ns(shape, cut.radix_bits, host)},
          {"open", open_ns(cut, rates)},
          {"upload", upload_ns(uploaded, cut, rates)},
          {"group", random_ns(rows * (1 + again), rates) + clear_ns(cut.pixels * (1 + again), rates) +
                        read_ns(2 * rows * (1 + again), rates) + stream_ns(24 * rows, rates)},
          {"aggregate", random_blend_ns(rows * shape.draws, rates) + clear_ns(8 * groups, rates) +
                            submissions_ns(kGroupBySubmissions, cut, rates)},
          {"download", groups * static_cast<double>(shape.state_bytes + 4) / rates.download_bytes_per_s * kNs},
          {"merge", device_merge_ns(shape, cut)}};
}

PhaseCosts compute_group_by_costs(GroupByShape const& shape, DeviceCut const& cut, DeviceRates const& rates,
                                  HostRates const& host) {
  auto const rows = static_cast<double>(shape.rows);
  auto const groups = static_cast<double>(shape.estimated_groups);
  auto const uploaded = rows * (group_key_bytes(shape) + 4.0 * shape.value_words);
  return {{"start", host.query_ns},
          {"encode", encode_ns(rows, host)},
          {"partition", group_partition_ns(shape, cut.radix_bits, host)},
          {"open", open_ns(cut, rates)},
          {"upload", upload_ns(uploaded, cut, rates)},
          {"group", atomic_ns(rows, rates) + read_ns(rows, rates)},
          {"aggregate", atomic_ns(rows * shape.states, rates) + submissions_ns(kGroupBySubmissions, cut, rates)},
          {"download", groups * static_cast<double>(shape.state_bytes + 4) / rates.download_bytes_per_s * kNs},
          {"merge", device_merge_ns(shape, cut)}};
}

PhaseCosts streamed_group_by_costs(StreamedGroupShape const& shape, DeviceRates const& rates, HostRates const& host) {
  auto const up_per_s =
      team_bytes_per_s(rates.stage_bytes_per_s, rates.team_upload_bytes_per_s, shape.copy_threads, host);
  auto const down_per_s =
      team_bytes_per_s(rates.download_bytes_per_s, rates.team_download_bytes_per_s, shape.copy_threads, host);
  auto const bytes = shape.rows * shape.row_bytes;
  return {
      {"start", host.query_ns},
      {"encode", shape.encodes_first ? encode_ns(shape.rows, host) : 0},
      {"open", kStreamedGroupLanes * rates.lane_ns + 2 * shape.copy_threads * kCopyThreadNs + kStreamedGroupNs},
      {"convert", encode_ns(shape.rows * shape.converted, host) * host.threads},
      {"upload", bytes / up_per_s * kNs},
      {"group", stream_ns(kStreamedGroupPasses * bytes, rates) + read_ns(kStreamedGroupAccesses * shape.groups, rates)},
      {"download", shape.groups * shape.result_row_bytes / (kNewMemoryShare * down_per_s) * kNs},
      {"submissions", kGroupBySubmissions * rates.submission_ns + 4 * rates.stage_call_ns}};
}

}  // namespace garuda::operators
