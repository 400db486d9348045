// How often each key of a small sample comes: what sorting the sample would tell, in a tenth of the time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "partition/mix.hpp"

namespace garuda::partition {

/// A hash table of the keys of a sample and their numbers; at most half full. The copy is its own.
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

  std::span<Entry const> entries() const noexcept { return entries_; }

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

}  // namespace garuda::partition
