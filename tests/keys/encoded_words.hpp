// Encoded keys as tests read them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "keys/encoded_keys.hpp"
#include "keys/join_keys.hpp"
#include "tests/reference/column_builder.hpp"

namespace garuda::keys {

/// Encodes the keys of two tables, their first columns, or of two columns.
inline Result<EncodedJoinKeys> encode_first(Table const& left, Table const& right) {
  return encode_join_keys({left.view(), {0}}, {right.view(), {0}}, {});
}
inline Result<EncodedJoinKeys> encode_first(reference::Column const& left, reference::Column const& right) {
  return encode_first(reference::make_table("l", {left}), reference::make_table("r", {right}));
}

inline std::uint64_t word_at(EncodedKeys const& keys, std::uint64_t i) {
  return keys.key_bits == 32 ? keys.words32()[i] : keys.words64()[i];
}

/// The row that key `i` is of.
inline std::uint64_t row_at(EncodedKeys const& keys, std::uint64_t i) {
  return keys.row_ids.size_bytes() == 0 ? i : keys.row_ids.as<std::uint32_t>()[i];
}

/// Checks that `min`, `max` and `common_low_bits` hold for the words of keys of some columns.
inline void expect_statistics(EncodedKeys const& keys, std::size_t num_columns = 1) {
  if (keys.num_rows == 0) return;
  auto min = word_at(keys, 0);
  auto max = min;
  std::uint64_t varying = 0;
  for (std::uint64_t i = 0; i < keys.num_rows; ++i) {
    min = std::min(min, word_at(keys, i));
    max = std::max(max, word_at(keys, i));
    varying |= word_at(keys, i) ^ word_at(keys, 0);
  }
  std::uint32_t common = 0;
  while (common < keys.key_bits && ((varying >> common) & 1) == 0) ++common;
  EXPECT_EQ(keys.common_low_bits, common);
  bool const both_signs = (min >> 63) == 0 && (max >> 63) == 1;
  if (num_columns > 1 || (keys.key_bits == 64 && both_signs)) {  // bounds only
    EXPECT_LE(keys.min, min);
    EXPECT_GE(keys.max, max);
    if (keys.key_bits == 32) {
      EXPECT_LE(keys.max, std::numeric_limits<std::uint32_t>::max());
    }
    auto const ends = varying == 0 ? ~std::uint64_t{0} : (varying & -varying) - 1;
    EXPECT_EQ((keys.min ^ min) & ends, 0U);
    EXPECT_EQ((keys.max ^ max) & ends, 0U);
  } else {
    EXPECT_EQ(keys.min, min);
    EXPECT_EQ(keys.max, max);
  }
}

}  // namespace garuda::keys
