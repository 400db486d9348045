// Shapes of made-up tables that planners are tested with.
#pragma once

#include <algorithm>
#include <cstdint>

#include "operators/plan/group_by_planner.hpp"
#include "operators/plan/join_planner.hpp"

namespace garuda::testing {

inline constexpr std::uint64_t kFreeHostBytes = std::uint64_t{64} << 30;

/// Keys of 32 bits without gaps, one payload column of 4 bytes a side; every row of the larger side has one match.
inline contract::JoinShape dense_join(std::uint64_t left, std::uint64_t right) {
  contract::JoinShape shape;
  auto const distinct = static_cast<double>(std::min(left, right));
  shape.left = {.rows = left, .key_range = left, .distinct = distinct};
  shape.right = {.rows = right, .key_range = left, .distinct = distinct};
  shape.output = {{Side::left, 0, 4, true, true}, {Side::left, 1, 4}, {Side::right, 1, 4}};
  shape.expected_matches = static_cast<double>(std::max(left, right));
  shape.threads = 2;
  shape.free_host_bytes = kFreeHostBytes;
  return shape;
}

/// dense_join() with keys of 64 bits from their whole range.
inline contract::JoinShape sparse_join(std::uint64_t left, std::uint64_t right) {
  auto shape = dense_join(left, right);
  shape.key_bits = 64;
  shape.left.key_range = shape.right.key_range = 0;
  return shape;
}

/// One packed key, one sum of 64-bit integers.
inline contract::GroupByShape summed_groups(std::uint64_t rows, std::uint64_t groups) {
  contract::GroupByShape shape;
  shape.rows = rows;
  shape.estimated_groups = groups;
  shape.whole = contract::WholeSizes{true, groups, 9, 16};
  shape.requests = {{contract::ValueKind::int64, contract::kSumState, false}};
  shape.value_words = 2;
  shape.output_row_bytes = 16;
  shape.threads = 2;
  shape.free_host_bytes = kFreeHostBytes;
  return shape;
}

}  // namespace garuda::testing
