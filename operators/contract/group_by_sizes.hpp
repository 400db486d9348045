// Sizes of group-bys in slices that every path decides the same way.
#pragma once

#include <algorithm>
#include <cstdint>

#include "operators/contract/offer.hpp"
#include "operators/contract/shapes.hpp"
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

}  // namespace garuda::contract
