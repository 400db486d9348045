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
  return {.parts = {},
          .rows_left = left,
          .rows_right = right,
          .key_range_left = left,
          .key_range_right = left,
          .distinct_left = static_cast<double>(std::min(left, right)),
          .distinct_right = static_cast<double>(std::min(left, right)),
          .output = {{Side::left, 0, 4, true, true}, {Side::left, 1, 4}, {Side::right, 1, 4}},
          .expected_matches = static_cast<double>(std::max(left, right)),
          .threads = 2,
          .free_host_bytes = kFreeHostBytes};
}

/// dense_join() with keys of 64 bits from their whole range.
inline contract::JoinShape sparse_join(std::uint64_t left, std::uint64_t right) {
  auto shape = dense_join(left, right);
  shape.key_bits = 64;
  shape.key_range_left = shape.key_range_right = 0;
  return shape;
}

/// One packed key, one sum of 64-bit integers.
inline contract::GroupByShape summed_groups(std::uint64_t rows, std::uint64_t groups) {
  return {.rows = rows,
          .key_range = groups,
          .estimated_groups = groups,
          .whole = contract::WholeSizes{true, groups, 9, 16},
          .requests = {{contract::ValueKind::int64, contract::kSumState, false}},
          .value_words = 2,
          .widest_value = 2,
          .state_bytes = 16,
          .output_row_bytes = 16,
          .threads = 2,
          .free_host_bytes = kFreeHostBytes};
}

}  // namespace garuda::testing
