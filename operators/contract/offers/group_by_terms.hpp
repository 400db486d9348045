// Sizes of group-bys in slices and terms of their costs, which every path decides the same way.
#pragma once

#include <algorithm>
#include <cstdint>

#include "operators/contract/offers/costs.hpp"
#include "operators/contract/offers/offer.hpp"
#include "operators/contract/offers/shapes.hpp"
#include "operators/contract/sizing.hpp"

namespace garuda::contract {

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

/// Groups of a device's slices on the host: merged where there are several slices, then finished, by one thread (Intel
/// Xeon beside an H200, 2^16 to 2^22 groups of one sum, 2026-11-21).
inline constexpr double kMergedGroupNs = 85;
inline constexpr double kFinishedGroupNs = 35;

inline double group_key_bytes(GroupByShape const& shape) { return shape.key_bits / 8.0 + 4.0 * shape.key_words; }
inline double group_partition_ns(GroupByShape const& shape, std::uint32_t bits, rates::HostRates const& host) {
  auto const row_bytes = std::max(shape.key_bits / 8.0, 4.0) + static_cast<double>(shape.row_id_bytes());
  return partition_ns(static_cast<double>(shape.rows), row_bytes, bits, host);
}
inline double groups_of(GroupByShape const& shape) { return static_cast<double>(shape.estimated_groups); }

/// Groups of a device's slices, made those of the table.
inline double device_merge_ns(GroupByShape const& shape, DeviceCut const& cut) {
  auto const parts = partitions(cut.radix_bits);
  auto const slices_a_part = std::max(static_cast<double>(cut.slices) / parts, 1.0);
  auto const merged = slices_a_part > 1 ? groups_of(shape) * slices_a_part : 0;
  return merged * kMergedGroupNs + groups_of(shape) * kFinishedGroupNs;
}

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

}  // namespace garuda::contract
