// Keys of a table as one word of 32 or 64 bits a row: what is partitioned and what kernels compare.
#pragma once

#include <cstdint>
#include <span>

#include "core/buffer.hpp"

namespace garuda::keys {

/// Words of consecutive rows.
struct WordPart {
  std::uint64_t first_row = 0;  ///< of the table
  void const* words = nullptr;  ///< from that row on
};

/// Words of one table. Owned, or borrowed from a column that already has the layout.
struct EncodedKeys {
  std::uint32_t key_bits = 32;
  std::uint64_t num_rows = 0;         ///< rows that have a word
  std::uint64_t table_rows = 0;       ///< rows of the table
  void const* words = nullptr;        ///< num_rows × u32 or u64
  AlignedBuffer owned_words;          ///< empty when `words` is borrowed
  AlignedBuffer row_ids;              ///< empty: word i is row i; else num_rows × u32 (u64 when table_rows > 2^32)
  std::uint64_t min = 0, max = 0;     ///< bounds of the words that end as all words do; exact unless they are packed of
                                      ///< several columns, keys of 64 bits of both signs or codes of a small
                                      ///< dictionary; unspecified when num_rows is 0
  std::uint32_t common_low_bits = 0;  ///< lowest bits known to be equal in all words: key_bits when all are equal

  /// The same words and bounds without row ids; refers to the words, whoever owns them.
  EncodedKeys borrowed() const {
    EncodedKeys keys;
    keys.key_bits = key_bits;
    keys.num_rows = num_rows;
    keys.table_rows = table_rows;
    keys.words = words;
    keys.min = min;
    keys.max = max;
    keys.common_low_bits = common_low_bits;
    return keys;
  }

  std::span<std::uint32_t const> words32() const noexcept {
    return {static_cast<std::uint32_t const*>(words), key_bits == 32 ? num_rows : 0};
  }
  std::span<std::uint64_t const> words64() const noexcept {
    return {static_cast<std::uint64_t const*>(words), key_bits == 64 ? num_rows : 0};
  }
};

}  // namespace garuda::keys
