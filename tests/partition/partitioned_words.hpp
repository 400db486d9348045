// Words of a test as keys, and where they belong.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "keys/numbering/mix.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::partition {

/// Encoded keys over vectors of the test: `words` and `rows` must outlive them.
template <class Word>
keys::EncodedKeys encoded(std::vector<Word> const& words, std::uint64_t table_rows) {
  keys::EncodedKeys keys;
  keys.key_bits = 8 * sizeof(Word);
  keys.num_rows = words.size();
  keys.table_rows = table_rows;
  keys.words = words.data();
  keys.common_low_bits = keys.key_bits;
  if (words.empty()) return keys;
  keys.min = *std::min_element(words.begin(), words.end());
  keys.max = *std::max_element(words.begin(), words.end());
  std::uint64_t varying = 0;
  for (auto const word : words) varying |= word ^ words[0];
  if (varying != 0) keys.common_low_bits = static_cast<std::uint32_t>(std::countr_zero(varying));
  return keys;
}

template <class Word>
keys::EncodedKeys encoded(std::vector<Word> const& words) {
  return encoded(words, words.size());
}

/// The partition of a key, computed apart from the product's scatter.
inline std::uint64_t expected_partition(std::uint64_t key, RadixDigit digit) {
  auto const bits =
      digit.mixed ? std::rotl(keys::mix(key), static_cast<int>(digit.shift + digit.bits)) : key >> digit.shift;
  return bits % (std::uint64_t{1} << digit.bits);
}

template <class Word>
std::span<Word const> keys_of(PartitionedKeys const& partitioned) {
  if constexpr (sizeof(Word) == 4)
    return partitioned.keys32();
  else
    return partitioned.keys64();
}

}  // namespace garuda::partition
