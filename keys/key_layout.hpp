// How key columns become words: chosen by the ranges of their codes, the same for all tables that are compared.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "garuda/group_by.hpp"
#include "keys/codes/code_range.hpp"
#include "keys/numbering/mix.hpp"

namespace garuda::keys {

/// Bits of the product of all attributes' cardinalities less one; when it exceeds 64 bits, what single attributes take.
std::uint32_t packed_bits(std::span<CodeRange const> ranges);

/// Whether keys of so many bits together become one word.
bool is_packed_in(KeyForm form, std::uint32_t packed_bits);

/// Where an attribute is found in the words of 64 bits of a row.
struct AttributePlace {
  std::uint32_t word = 0;  ///< the first one
  bool is_first = true;    ///< of those that share the word
  /// Its positions do not fit a word: it has two, the lower half first, and with nulls a third one, 1 where it is null.
  bool is_wide = false;
};

/// Words of 64 bits of a row, as few as attributes in their order fill, those that need more behind the others.
struct RowPlaces {
  std::vector<AttributePlace> attributes;
  std::uint32_t num_words = 0;
};
RowPlaces place_attributes(std::span<CodeRange const> ranges);

/// Lowest bits that no two words differ in; `varying`: the bits that some do.
std::uint32_t low_bits_of(std::uint64_t varying, std::uint32_t key_bits);

struct KeyLayout {
  bool is_packed = true;
  std::uint32_t packed_bits = 0;  ///< bits that all attributes take in one word; over 64: they do not fit
  std::vector<CodeRange> ranges;  ///< an attribute each, over all tables
  RowPlaces rows;                 ///< words form
  /// The only attribute's words are its values as they lie in memory: the code that word 0 stands for.
  std::optional<std::uint64_t> zero_in_place;

  /// Packed form: the range of an attribute, `min` being what its position 0, or 1 behind null, stands for.
  CodeRange positions(std::size_t attribute) const {
    auto range = ranges[attribute];
    if (zero_in_place) range.min = *zero_in_place;
    return range;
  }

  /// Packed form: of a word.
  std::uint32_t key_bits() const noexcept { return packed_bits <= 32 ? 32 : 64; }
};

/// Changes the first of several columns of words, `count` rows each, by what a row's other words hash to. Rows that
/// differ in any word then hardly ever agree in the first one, and are equal as before where all words are. Done
/// twice, nothing has changed. Of one column: nothing is done.
inline void fold_words(std::span<std::uint64_t* const> columns, std::uint64_t count) noexcept {
  if (columns.size() < 2) return;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t hash = 0;
    for (std::size_t w = 1; w < columns.size(); ++w) hash = mix(hash ^ columns[w][i]);
    columns[0][i] ^= hash;
  }
}

}  // namespace garuda::keys
