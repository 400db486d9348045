// How key columns become words: by the ranges of their codes, the same for all tables that are compared.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/numbers/wide_integer.hpp"
#include "garuda/group_by.hpp"
#include "keys/codes/attribute_reader.hpp"
#include "keys/encoded_keys.hpp"
#include "keys/numbering/mix.hpp"

namespace garuda::keys {

/// Range of the codes of one attribute.
struct CodeRange {
  bool has_values = false;
  bool has_nulls = false;
  UInt128 min = 0;
  UInt128 max = 0;
  std::uint64_t sample = 0;   ///< low word of any code
  std::uint64_t varying = 0;  ///< bits in which low words differ from `sample`

  void add(UInt128 code) noexcept {
    if (!has_values) sample = static_cast<std::uint64_t>(code);
    min = has_values ? std::min(min, code) : code;
    max = has_values ? std::max(max, code) : code;
    varying |= static_cast<std::uint64_t>(code) ^ sample;
    has_values = true;
  }

  void add(CodeRange const& other) noexcept {
    has_nulls = has_nulls || other.has_nulls;
    if (!other.has_values) return;
    add(other.min);
    add(other.max);
    varying |= other.varying | (other.sample ^ sample);
  }

  /// Values that the attribute can take, null not counted; 0 without values, and when it is 2^128.
  UInt128 span() const noexcept { return has_values ? max - min + 1 : 0; }
  bool exceeds_64_bits() const noexcept { return has_values && max - min > std::numeric_limits<std::uint64_t>::max(); }
  /// Values that the attribute can take, null among them; at least 1.
  UInt128 cardinality() const noexcept { return std::max<UInt128>(span() + (has_nulls ? 1 : 0), 1); }

  /// Position of a code of at most 64 bits in the range, null first.
  std::uint64_t position(std::uint64_t code, bool valid) const noexcept {
    if (!valid) return 0;
    return code - static_cast<std::uint64_t>(min) + (has_nulls ? 1 : 0);
  }
};

/// The range of an attribute over the rows of `block`, whose codes have been read: exact, but for given codes, of
/// which it is that of all rows.
CodeRange range_of_read(AttributeReader const& reader, RowBlock const& block, AttributeCodes const& codes);

/// The range of an attribute over the rows of `block`. `scratch` is overwritten.
CodeRange scan_range(AttributeReader const& reader, RowBlock const& block, AttributeCodes& scratch);

/// The arrays of a reader's column that hold all rows of `table` as integers of `width` bytes, aligned to them; none:
/// its codes are not those of such integers, but for what 0 has.
std::vector<WordPart> words_of_table(AttributeReader const& reader, TableView table, std::size_t column,
                                     std::int32_t width);

/// Some rows of a block, ascending; nullopt: all.
using RowsOfBlock = std::optional<std::span<std::uint32_t const>>;

/// Packs an attribute of the `rows`, in their order: word = word × the range's cardinality + the code's position in the
/// range, modulo 2^bits of Word; when the attribute `is_first`, only the position. `words`: one a row. Word: u32 or
/// u64.
template <class Word>
void pack_attribute(AttributeReader const& reader, CodeRange const& range, RowBlock const& block,
                    RowsOfBlock const& rows, bool is_first, AttributeCodes& scratch, Word* words);

/// Bits of the product of all attributes' cardinalities less one; when it exceeds 64 bits, what single attributes take.
std::uint32_t packed_bits(std::span<CodeRange const> ranges);

/// Whether keys of so many bits together become one word.
bool is_packed_in(KeyForm form, std::uint32_t packed_bits);

/// Where an attribute is found in the words of 64 bits of a row.
struct AttributePlace {
  std::uint32_t word = 0;  ///< the first one
  bool is_first = true;    ///< of those that share the word
  /// True where positions do not fit a word: there are two, the lower half first, and with nulls a third, 1 for null.
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
  constexpr std::uint64_t kStepRows = 512;  // column by column, while their sums stay in the first-level cache
  std::uint64_t sums[kStepRows];
  for (std::uint64_t first = 0; first < count; first += kStepRows) {
    auto const rows = std::min(kStepRows, count - first);
    std::fill_n(sums, rows, std::uint64_t{0});
    for (std::size_t w = 1; w < columns.size(); ++w) {
      auto const factor = mix(w) | 1;
      auto const* const words = columns[w] + first;
      for (std::uint64_t i = 0; i < rows; ++i) sums[i] += words[i] * factor;
    }
    for (std::uint64_t i = 0; i < rows; ++i) columns[0][first + i] ^= mix(sums[i]);
  }
}

}  // namespace garuda::keys
