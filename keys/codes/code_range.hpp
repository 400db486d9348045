// Ranges of key attributes, and attributes packed into words by their ranges.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/numbers/wide_integer.hpp"
#include "keys/codes/attribute_reader.hpp"
#include "keys/encoded_keys.hpp"

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

/// Of each of the `rows`, in their order, word = word × the range's cardinality + the position of the row's code in the
/// range, modulo 2^bits of Word; when the attribute `is_first`, only the position. `words`: one a row. Word: u32 or
/// u64.
template <class Word>
void pack_attribute(AttributeReader const& reader, CodeRange const& range, RowBlock const& block,
                    RowsOfBlock const& rows, bool is_first, AttributeCodes& scratch, Word* words);

}  // namespace garuda::keys
