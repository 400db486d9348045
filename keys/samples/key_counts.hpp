// How often each key of a sample comes, and how many keys that lets expect where the sample was drawn.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "keys/numbering/mix.hpp"

namespace garuda::keys {

/// How many different keys a sample has, and how many of them came once and twice.
struct Frequencies {
  std::uint64_t distinct = 0;
  std::uint64_t once = 0;
  std::uint64_t twice = 0;
  std::uint32_t heaviest = 0;  ///< how often the most frequent one came

  /// A key that came `count` times; 0: none.
  void see(std::uint32_t count) noexcept {
    distinct += count > 0 ? 1 : 0;
    once += count == 1 ? 1 : 0;
    twice += count == 2 ? 1 : 0;
    heaviest = std::max(heaviest, count);
  }
  /// Adds the frequencies of another part of the sample, without a key in common.
  void add(Frequencies const& other) noexcept {
    distinct += other.distinct;
    once += other.once;
    twice += other.twice;
    heaviest = std::max(heaviest, other.heaviest);
  }
  /// Keys that the sample may have been drawn from, those that it does not have among them. Source: Chao 1984, in its
  /// form without bias: a lower bound for skewed keys, close for evenly drawn ones.
  double drawn_from() const noexcept {
    auto const unseen = once == 0 ? 0.0 : static_cast<double>(once) * static_cast<double>(once - 1);
    return static_cast<double>(distinct) + unseen / (2 * (static_cast<double>(twice) + 1));
  }
};

/// A hash table of the keys of a sample and their numbers, which tells what sorting it would in a tenth of the time; at
/// most half full. The copy is its own.
template <class Word>
class KeyCounts {
 public:
  struct Entry {
    Word key = 0;
    std::uint32_t count = 0;  ///< 0: the entry holds no key
  };

  /// Requires: less than 2^32 keys.
  explicit KeyCounts(std::span<Word const> keys)
      : bits_(static_cast<std::uint32_t>(std::bit_width(2 * keys.size()))), entries_(std::size_t{1} << bits_) {
    for (auto const key : keys) {
      auto& entry = entries_[slot_of(key, mix(key))];
      entry.key = key;
      ++entry.count;
    }
  }

  /// Keys of the sample that equal `key`, whose hash mix(key) is `hash`.
  std::uint32_t count(Word key, std::uint64_t hash) const { return entries_[slot_of(key, hash)].count; }

  Frequencies frequencies() const noexcept {
    Frequencies found;
    for (auto const& entry : entries_) found.see(entry.count);
    return found;
  }

 private:
  /// Where `key` is, or would be entered.
  std::size_t slot_of(Word key, std::uint64_t hash) const {
    auto slot = static_cast<std::size_t>(hash_digit(hash, bits_));
    while (entries_[slot].count != 0 && entries_[slot].key != key) slot = (slot + 1) & (entries_.size() - 1);
    return slot;
  }

  std::uint32_t bits_;
  std::vector<Entry> entries_;
};

}  // namespace garuda::keys
