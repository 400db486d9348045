// Key columns → fixed-width words on which equality is the keys' equality.
#pragma once

#include <cstdint>
#include <span>

#include "core/buffer.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"

namespace garuda::partition {

/// The type in which two key columns are compared.
/// Errors: invalid_input, naming both columns and types, when they are neither equal nor safely widened to one another
/// (an integer type into one that holds all its values; decimals of one scale), or when a type cannot be a key.
Result<DataType> common_key_type(Field const& left, Field const& right);

/// The failure (invalid_input) of a join whose key has a value beyond 64 bits in row `row` of its table.
tl::unexpected<Error> key_beyond_64_bits(Field const& field, std::uint64_t row);

/// Words of one side, null keys left out. Owned, or borrowed from a column that already has the layout.
struct EncodedKeys {
  std::uint32_t key_bits = 32;
  std::uint64_t num_rows = 0;         ///< rows with a non-null key
  std::uint64_t table_rows = 0;       ///< rows of the table
  void const* words = nullptr;        ///< num_rows × u32 or u64
  AlignedBuffer owned_words;          ///< empty when `words` is borrowed
  AlignedBuffer row_ids;              ///< empty: word i is row i; else num_rows × u32 (u64 when table_rows > 2^32)
  std::uint64_t min = 0, max = 0;     ///< bounds of the words, exact unless keys of 64 bits have both signs;
                                      ///< unspecified when num_rows is 0
  std::uint32_t common_low_bits = 0;  ///< lowest bits that are equal in all words: key_bits when all are equal

  std::span<std::uint32_t const> words32() const noexcept {
    return {static_cast<std::uint32_t const*>(words), key_bits == 32 ? num_rows : 0};
  }
  std::span<std::uint64_t const> words64() const noexcept {
    return {static_cast<std::uint64_t const*>(words), key_bits == 64 ? num_rows : 0};
  }
};

struct EncodedJoinKeys {
  EncodedKeys left, right;
  std::uint64_t base = 0;  ///< word = key (sign-extended to 64 bits) - base, modulo 2^64
};

/// Encodes one key column of each table, in parallel on the threads of the calling task arena. Words are key - base, 32
/// bits wide when the keys of both sides span less than 2^32, 64 otherwise. The base is the smallest key of both sides;
/// it is 0 when that lets a column be borrowed: one batch with rows, no nulls, a type as wide as the words, aligned to
/// them, and for words of 32 bits no negative key on either side. Decimals of 128 bits are accepted when every value
/// fits 64 bits. What is borrowed must outlive the result. Requires: both columns exist. Errors: those of
/// common_key_type; invalid_input for a decimal value beyond 64 bits (the first such row is named) and for a column in
/// device memory; out_of_memory; cancelled.
Result<EncodedJoinKeys> encode_join_keys(TableView left, std::size_t left_column, TableView right,
                                         std::size_t right_column, Control const& control);

}  // namespace garuda::partition
