// Estimates of cost: nanoseconds a phase of every strategy, and the terms that they are made of: so many rows, points
// or bytes at a rate, and what all paths decide the same way for joins and for group-bys. The costs of a strategy stand
// beside its kernel. Slices of devices are sized and cut here, too, because the cut is what is priced. All of them are
// pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "operators/contract/offers/offer.hpp"
#include "operators/contract/sizing.hpp"
#include "operators/rates/rates.hpp"
#include "vk_runtime/device/device_traits.hpp"
#include "vk_runtime/memory/transfer.hpp"

namespace garuda::contract {

using rates::DeviceRates;

/// Estimates by phase, named as the phases of a run.
using PhaseCosts = std::vector<std::pair<std::string, double>>;
double total_ns(PhaseCosts const& costs);

/// How a device cuts the work of a join or a group-by.
struct DeviceCut {
  std::uint32_t radix_bits = 0;
  std::uint32_t lanes = 1;
  std::uint64_t slices = 1;
  std::uint64_t chunk_rows = kLargestChunkRows;  ///< most rows of a batch
  double pixels = 0;                             ///< of all hash images together, one layer each
  vk::UploadMode upload = vk::UploadMode::stage;
};

/// The way to upload that takes least for slices of `bytes` bytes, of those that the device has: where it reads host
/// memory in place, that.
vk::UploadMode cheapest_upload(DeviceRates const& rates, vk::DeviceTraits const& traits, double bytes);

inline constexpr double kNs = 1e9;
/// Bytes of (key, row id) that the partitioner's rate was measured with.
inline constexpr double kMeasuredRowBytes = 8;
/// Starting a thread that copies, with its staging memory.
inline constexpr double kCopyThreadNs = 0.3e6;

inline double partitions(std::uint32_t bits) { return static_cast<double>(std::uint64_t{1} << bits); }

inline double encode_ns(double keys, rates::HostRates const& host) { return keys / host.encoded_keys_per_s * kNs; }

inline double partition_ns(double rows, double row_bytes, std::uint32_t bits, rates::HostRates const& host) {
  if (bits == 0) return 0;
  return rows / host.partitioned_rows.at(partitions(bits)) * (row_bytes / kMeasuredRowBytes) * kNs;
}

/// So many rows, points, bytes, … at a rate.
inline double ns_at(double amount, double per_s) { return amount / per_s * kNs; }
inline double clear_ns(double pixels, DeviceRates const& rates) { return ns_at(pixels, rates.cleared_pixels_per_s); }
inline double stream_ns(double bytes, DeviceRates const& rates) { return ns_at(bytes, rates.streamed_bytes_per_s); }
inline double read_ns(double reads, DeviceRates const& rates) { return ns_at(reads, rates.random_reads_per_s); }
inline double atomic_ns(double atomics, DeviceRates const& rates) { return ns_at(atomics, rates.atomics_per_s); }
inline double random_ns(double points, DeviceRates const& rates) { return ns_at(points, rates.random_points_per_s); }
inline double ordered_ns(double points, DeviceRates const& rates) { return ns_at(points, rates.ordered_points_per_s); }
inline double clipped_ns(double points, DeviceRates const& rates) { return ns_at(points, rates.clipped_points_per_s); }
/// Where nothing blends, counts and sums are compute passes with atomics.
inline double random_blend_ns(double points, DeviceRates const& rates) {
  return rates.random_blends_per_s > 0 ? ns_at(points, rates.random_blends_per_s) : atomic_ns(points, rates);
}
inline double ordered_blend_ns(double points, DeviceRates const& rates) {
  return rates.ordered_blends_per_s > 0 ? ns_at(points, rates.ordered_blends_per_s) : atomic_ns(points, rates);
}

inline double upload_ns(double bytes, DeviceCut const& cut, DeviceRates const& rates) {
  auto const rate = rates::upload_rate(rates, cut.upload);
  return rate.ns(bytes) + rate.call_ns * static_cast<double>(2 * cut.slices - 1);
}

/// `a_slice`: submissions of a slice, each waited for. Lanes wait side by side.
inline double submissions_ns(double a_slice, DeviceCut const& cut, DeviceRates const& rates) {
  return a_slice * static_cast<double>(cut.slices) / std::min<double>(cut.lanes, static_cast<double>(cut.slices)) *
         rates.submission_ns;
}

/// Bytes a second of so many host threads that copy side by side, each alone at a rate: at most as fast as a team was
/// measured to be, or where it was not (0), as the host copies.
inline double team_bytes_per_s(double alone_per_s, double team_per_s, std::uint32_t threads,
                               rates::HostRates const& host) {
  auto const most = team_per_s > 0 ? team_per_s : host.copy_bytes_per_s / 2;
  return std::max(std::min(alone_per_s * threads, most), alone_per_s);
}

inline double open_ns(DeviceCut const& cut, DeviceRates const& rates) { return cut.lanes * rates.lane_ns; }

inline constexpr std::uint64_t kSmallestGroupedSliceRows = std::uint64_t{1} << 16;
/// Slices are merged group by group; above this share of the rows that costs more than partitioning them.
inline constexpr std::uint64_t kMergedShare = 4;

inline std::uint64_t slices_for(std::uint64_t rows, std::uint64_t slice_rows) {
  return (rows + slice_rows - 1) / slice_rows;
}

/// Radix bits that keep merging cheap: none while few groups, or few slices, are merged.
inline std::uint32_t bits_against_merging(GroupByShape const& shape, std::uint64_t slice_rows) {
  auto const slices = slices_for(shape.rows, slice_rows);
  if (!has_keys(shape) || slices <= 1 || shape.estimated_groups * slices < shape.rows / kMergedShare) return 0;
  return radix_bits_for(shape.rows, slice_rows);
}

inline std::uint32_t words_of_keys(GroupByShape const& shape) {
  return static_cast<std::uint32_t>(key_bytes(shape) / 4);
}

/// Rows that a slice has, about.
inline std::uint64_t rows_a_slice(GroupByShape const& shape, GroupByOffer const& offer) {
  return std::min(offer.slice_rows, (shape.rows >> offer.radix_bits) + 1);
}

/// Groups that a slice has, about.
inline std::uint64_t slice_groups(GroupByShape const& shape, GroupByOffer const& offer) {
  return std::clamp<std::uint64_t>(shape.estimated_groups >> offer.radix_bits, 1, rows_a_slice(shape, offer));
}

/// Submissions of a slice, each waited for before the host goes on: sizes are known exactly before they are used.
inline constexpr double kGroupBySubmissions = 10;

inline double group_key_bytes(GroupByShape const& shape) { return shape.key_bits / 8.0 + 4.0 * shape.key_words; }
inline double group_partition_ns(GroupByShape const& shape, std::uint32_t bits, rates::HostRates const& host) {
  auto const row_bytes = std::max(shape.key_bits / 8.0, 4.0) + static_cast<double>(shape.row_id_bytes());
  return partition_ns(static_cast<double>(shape.rows), row_bytes, bits, host);
}
inline double groups_of(GroupByShape const& shape) { return static_cast<double>(shape.estimated_groups); }

/// The costs of a group-by in slices on a device, whose passes take so long.
PhaseCosts sliced_group_by_costs(GroupByShape const& shape, DeviceCut const& cut, DeviceRates const& rates,
                                 rates::HostRates const& host, double group_ns, double aggregate_ns);

/// Entering a value into the order of its column, and copying one into the result, by one thread (2-core AMD EPYC,
/// 4 × 10^6 distinct strings of 20 bytes, 2026-11-22).
inline constexpr double kOrderedValueNs = 16;
inline constexpr double kCopiedBytesNs = 50;

/// Finding the bytes of a short string and making its number of them, by one thread; and numbering a longer one, of few
/// distinct ones that lie in a cache, or of many (2-core Intel Xeon, 10^7 strings of 5 and of 12 bytes; 4 × 10^6 of 40,
/// 10^3 and 10^5 distinct, beside busy neighbours, 2026-11-23).
inline constexpr double kCodedKeyNs = 8;
inline constexpr double kNumberedKeyNs = 16;
inline constexpr double kNumberedAmongManyNs = 190;
inline constexpr double kFewNumberedKeys = 1 << 14;

/// Costs on the host of keys without integers before they are words, whatever the path.
inline PhaseCosts given_code_costs(GroupByShape const& shape) {
  auto const numbered_ns = groups_of(shape) <= kFewNumberedKeys ? kNumberedKeyNs : kNumberedAmongManyNs;
  auto const row_ns = shape.coded_columns * kCodedKeyNs + shape.numbered_columns * numbered_ns;
  return {{"encode", static_cast<double>(shape.rows) * row_ns / std::max(shape.threads, 1U)}};
}

/// Costs on the host of least and greatest values of bytes, beside their column's states, whatever the path.
inline PhaseCosts order_costs(GroupByShape const& shape) {
  auto const columns = static_cast<double>(std::ranges::count(shape.requests, ValueKind::bytes, &StateRequest::kind));
  return {{"order", columns * static_cast<double>(shape.rows) * kOrderedValueNs / std::max(shape.threads, 1U)},
          {"gather", columns * groups_of(shape) * kCopiedBytesNs}};
}

/// Submissions of a slice, each waited for before the host goes on: sizes are known exactly before they are used.
inline constexpr double kJoinSubmissions = 6;
/// Cost of a column with nulls or variable widths, which is gathered batch by batch, in plain columns.
inline constexpr double kGathererShare = 2;

inline double rows_of(JoinShape const& shape) { return static_cast<double>(shape.left.rows + shape.right.rows); }
inline double build_rows(JoinShape const& shape) { return static_cast<double>(shape.smaller_rows()); }
inline double probe_rows(JoinShape const& shape) { return static_cast<double>(shape.larger_rows()); }
inline double rows_of(JoinShape const& shape, Side side) { return static_cast<double>(shape.of(side).rows); }
/// The build side unless a path is told: the smaller side, the right one of two equal ones.
inline Side smaller_side(JoinShape const& shape) {
  return shape.left.rows < shape.right.rows ? Side::left : Side::right;
}
inline double distinct_of(JoinShape const& shape, Side side) {
  auto const distinct = shape.of(side).distinct;
  auto const rows = std::max(rows_of(shape, side), 1.0);
  return distinct > 0 ? std::min(distinct, rows) : rows;
}
inline double matches(JoinShape const& shape) { return shape.expected_matches; }
/// Pairs that a path makes: those of the result, or those that a condition is tested on, whatever becomes of them.
inline double pairs_made(JoinShape const& shape) { return std::max(shape.expected_matches, shape.tested_pairs); }
/// Fills in how many rows of each side have a match, given that there are so many pairs.
void estimate_matched(JoinShape& shape, double pairs);
/// Rows of `side` that come without one of the other side; 0 where rows are only counted.
double unmatched_rows(JoinShape const& shape, Side side);
/// Rows of the result.
inline double result_rows(JoinShape const& shape) {
  return matches(shape) + unmatched_rows(shape, Side::left) + unmatched_rows(shape, Side::right);
}
/// Whether it is asked which rows of `side` have a match; that they are counted makes no difference to its price.
inline bool is_marked(JoinShape const& shape, Side side) { return shape.parts.rows(side) != SideRows::none; }
inline double key_bytes(JoinShape const& shape) { return shape.key_bits / 8.0; }
inline double row_id_bytes(JoinShape const& shape) { return static_cast<double>(shape.row_id_bytes()); }
inline double join_row_bytes(JoinShape const& shape) { return key_bytes(shape) + row_id_bytes(shape); }

/// `values` values of `bytes` bytes, taken from anywhere in `source_bytes` bytes.
double taken_ns(double values, double bytes, double source_bytes, rates::HostRates const& host);

/// `values` values of `column`, taken from anywhere in the `rows` rows of its table, 0: about in their order. What is
/// not plain is looked up first, as an offset, a view or a bit, and then taken.
double column_ns(double values, OutputShape const& column, double rows, rates::HostRates const& host);

/// The result's batches, and the last of them, which nothing else runs beside.
double batches_ns(JoinShape const& shape, double batch_rows, rates::HostRates const& host);

/// Rows of the batches that take least time to make, of a few sizes. What memory allows is another matter.
/// `most_rows`: that a batch gets.
std::uint64_t cheapest_chunk(JoinShape const& shape, double most_rows, rates::HostRates const& host);
inline std::uint64_t device_chunk_rows(JoinShape const& shape, rates::HostRates const& host) {
  return cheapest_chunk(shape, matches(shape), host);
}

/// A device's pairs, gathered by the reader: both sides out of order, or the probe side in order.
double consumed_ns(JoinShape const& shape, DeviceCut const& cut, rates::HostRates const& host,
                   bool in_probe_order = false);

/// Unmatched rows are gathered by the reader in the order of their table, with nulls in the other side's columns.
double unmatched_ns(JoinShape const& shape, rates::HostRates const& host);

/// Whether words of a condition's columns move through the partitioning with the keys, or are fetched for every pair:
/// moving one costs a fraction of fetching one from anywhere in a table.
inline bool moves_words(double pairs, double rows) {
  constexpr double kFetchedShare = 4;
  return pairs * kFetchedShare >= rows;
}

/// A condition: its columns become words, and those of the rows of every pair are fetched and compared, by all lanes.
double condition_ns(JoinShape const& shape, rates::HostRates const& host);

/// Marks of the sides that are marked, on a device: a pass over keys that looks up the other side's, and bits down.
double mark_ns(JoinShape const& shape, DeviceCut const& cut, DeviceRates const& rates);

/// Converts between a tuning's mode and the runtime's.
Upload upload_of(vk::UploadMode mode) noexcept;
/// Requires: not automatic.
vk::UploadMode mode_of(Upload upload);

/// An offer with what the inquiry says of it.
template <class Offer, class Inquiry>
Offer device_offer(Path path, Inquiry const& inquiry) {
  auto const& facts = inquiry.facts();
  Offer offer;
  offer.candidate.path = path;
  offer.candidate.device = facts.info->name;
  offer.candidate.reason = source_of(facts);
  offer.device = inquiry.device;
  offer.key_bits = inquiry.shape.key_bits;
  offer.tuning = inquiry.options.tuning;
  return offer;
}
JoinOffer device_join_offer(Path path, JoinInquiry const& inquiry);
GroupByOffer device_group_by_offer(Path path, GroupByInquiry const& inquiry);

/// Lanes, and slices halved until those under way fit the device. `bytes_of`: device bytes of a slice of so many rows.
template <class Inquiry, class Offer, class BytesOf>
void size_slices(Inquiry const& inquiry, std::uint64_t table_rows, std::uint64_t most_rows, BytesOf const& bytes_of,
                 Offer& offer) {
  auto const& tuning = inquiry.options.tuning;
  offer.lanes = tuning.lanes != 0 ? tuning.lanes : 2;
  auto const budget = device_budget(inquiry.options, inquiry.facts());
  offer.slice_rows = std::min(tuning.slice_rows != 0 ? tuning.slice_rows : kMaxPassRows, most_rows);
  while (offer.slice_rows > kSmallestDeviceSliceRows &&
         bytes_of(std::min(offer.slice_rows, table_rows)) * offer.lanes > budget)
    offer.slice_rows /= 2;
}

/// Sides larger than a slice are cut by partitioning on the host, in parts of at most `most_part_rows` rows.
template <class BytesOf>
void size_device_join(JoinInquiry const& inquiry, JoinOffer& offer, BytesOf const& bytes_of,
                      std::uint64_t most_part_rows = std::numeric_limits<std::uint64_t>::max()) {
  auto const larger = inquiry.shape.larger_rows();
  size_slices(inquiry, larger, std::numeric_limits<std::uint64_t>::max(), bytes_of, offer);
  auto const asked = inquiry.options.tuning.radix_bits;
  auto const target = std::max<std::uint64_t>(std::min(offer.slice_rows, most_part_rows), 1);
  offer.radix_bits = asked >= 0 ? static_cast<std::uint32_t>(asked) : radix_bits_for(larger, target);
  offer.device_bytes = bytes_of(std::min(offer.slice_rows, (larger >> offer.radix_bits) + 1)) * offer.lanes;
}

/// Partitions keep merging cheap, and at least `least_bits` of them there are.
template <class BytesOf>
void size_device_group_by(GroupByInquiry const& inquiry, GroupByOffer& offer, std::uint64_t most_rows,
                          BytesOf const& bytes_of, std::uint32_t least_bits = 0) {
  auto const& shape = inquiry.shape;
  size_slices(inquiry, shape.rows, most_rows, bytes_of, offer);
  auto const asked = inquiry.options.tuning.radix_bits;
  offer.radix_bits = asked >= 0 ? static_cast<std::uint32_t>(asked)
                                : std::max(least_bits, bits_against_merging(shape, offer.slice_rows));
  offer.device_bytes = bytes_of(std::min(offer.slice_rows, (shape.rows >> offer.radix_bits) + 1)) * offer.lanes;
}

/// How the slices of `offer` are priced; chooses upload and chunks, where they are open, by the bytes of a slice.
DeviceCut cut_join(JoinInquiry const& inquiry, JoinOffer& offer);
/// The same where there are so many slices, each of which reads so many bytes.
DeviceCut cut_join(JoinInquiry const& inquiry, JoinOffer& offer, std::uint64_t slices, double slice_bytes);
/// Likewise; writes the candidate's choices, too.
DeviceCut cut_group_by(GroupByInquiry const& inquiry, GroupByOffer& offer);

/// "upload=stage,radix_bits=2,chunk_rows=524288".
std::string to_string(DeviceCut const& cut);

/// Radix bits that a device's slices may have: `least`, which sizes demand, and more while a partition keeps
/// kSmallestDeviceSliceRows of `rows` rows.
std::vector<std::uint32_t> device_radix_bits(std::uint32_t least, std::uint64_t rows);

}  // namespace garuda::contract
