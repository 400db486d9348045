// Terms that the costs of group-bys have in common, whatever the path.
#pragma once

#include <algorithm>
#include <cstdint>

#include "operators/contract/cost_terms.hpp"
#include "operators/contract/shapes.hpp"

namespace garuda::contract {

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

/// What keys without integers take on the host before they are words, whatever the path.
inline PhaseCosts given_code_costs(GroupByShape const& shape) {
  auto const numbered_ns = groups_of(shape) <= kFewNumberedKeys ? kNumberedKeyNs : kNumberedAmongManyNs;
  auto const row_ns = shape.coded_columns * kCodedKeyNs + shape.numbered_columns * numbered_ns;
  return {{"encode", static_cast<double>(shape.rows) * row_ns / std::max(shape.threads, 1U)}};
}

/// What least and greatest values of bytes take on the host beside their column's states, whatever the path.
inline PhaseCosts order_costs(GroupByShape const& shape) {
  auto const columns = static_cast<double>(std::ranges::count(shape.requests, ValueKind::bytes, &StateRequest::kind));
  return {{"order", columns * static_cast<double>(shape.rows) * kOrderedValueNs / std::max(shape.threads, 1U)},
          {"gather", columns * groups_of(shape) * kCopiedBytesNs}};
}

}  // namespace garuda::contract
