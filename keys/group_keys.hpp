// Group-by key columns → fixed-width words on which equality is the keys' equality, nulls included.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/numbers/wide_integer.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/table.hpp"
#include "keys/codes/attribute_reader.hpp"
#include "keys/encoded_keys.hpp"
#include "keys/key_encoder.hpp"
#include "keys/key_layout.hpp"
#include "keys/samples/key_sample.hpp"

namespace garuda::keys {

/// One key column, encoded.
struct GroupAttribute {
  bool has_nulls = false;
  bool is_dictionary = false;  ///< encoded through an exact dictionary
  std::uint64_t range = 0;     ///< largest - smallest code + 1; 0: 2^64 or more
  UInt128 cardinality = 1;     ///< values that it can take, null among them; 0: more than 2^64
  std::uint64_t smallest = 0;  ///< packed form: code that position 0, or 1 behind null, stands for
  CodeInverse inverse = CodeInverse::none;
  std::shared_ptr<ByteCoding const> bytes{};  ///< of the inverse of that name
  std::uint32_t nonempty_bins = 0;            ///< of kAttributeBins, in the sampled rows
  AttributePlace place{};                     ///< words form
};

/// Columns whose codes are found from all of their values.
struct GivenColumns {
  std::uint32_t coded = 0;     ///< by their bytes
  std::uint32_t numbered = 0;  ///< but for dictionaries, of which only the values are
};

/// The keys of all rows, in one of two forms: packed into one word of 32 or 64 bits, or as columns of 64-bit words into
/// each of which as many attributes are packed as fit (RowPlaces), the first one folded. No row is left out.
struct EncodedGroupKeys {
  std::uint64_t num_rows = 0;
  bool is_packed = true;
  EncodedKeys packed;                ///< packed form; without row ids
  std::vector<WordPart> parts;       ///< where packed words lie in the table's batches: `packed` refers to none then
  std::vector<AlignedBuffer> words;  ///< words form: rows × u64 each
  std::vector<GroupAttribute> attributes;
  GivenColumns given;
  std::size_t most_diverse = 0;        ///< of the attributes, the first of several
  std::uint32_t packed_bits = 0;       ///< bits that all attributes take in one word; over 64: they do not fit
  std::uint64_t sampled_rows = 0;      ///< rows that the next, and the non-empty bins, were found from
  std::uint64_t estimated_groups = 0;  ///< at most num_rows; see sample_keys

  std::span<std::uint64_t const> word(std::size_t i) const noexcept { return {words[i].as<std::uint64_t>(), num_rows}; }
  /// Host memory held, in bytes.
  std::uint64_t bytes() const noexcept;
};

/// The result of encoding, but for the words themselves.
struct GroupKeyOutline {
  GivenColumns given;
  bool is_packed = true;
  std::uint32_t key_bits = 32;         ///< packed form: of a word
  std::uint64_t min = 0;               ///< packed form, of the words
  std::uint64_t max = 0;               ///< likewise
  std::uint32_t common_low_bits = 0;   ///< packed form: lowest bits that are equal in all words
  std::uint32_t num_words = 0;         ///< words form: 64-bit words of a row
  std::uint64_t estimated_groups = 0;  ///< at most the rows; see sample_keys
  std::uint64_t bytes = 0;             ///< of host memory that the words take
};
GroupKeyOutline outline_of(EncodedGroupKeys const& keys);

/// Key columns that are open, and what a sample of their rows tells. Borrows the table.
struct SampledGroupKeys {
  OpenKeys open;
  KeySample sample;

  TableView table() const noexcept { return open.table; }
  GivenColumns given_columns() const;

  /// Whether there are rows that the sample leaves out.
  bool is_partial() const noexcept { return sample.rows < static_cast<std::uint64_t>(open.table.num_rows()); }
  /// The result of encoding if no row outside the sample widens a range: words that take the least room, so that what
  /// follows from them is cheap at least, not at most. `form`: as encode_group_keys takes it.
  GroupKeyOutline outline(KeyForm form) const;
};

/// Opens `columns` and samples them, in parallel on the threads of the calling task arena. Types without integers
/// get their codes here (open_keys), which looks at all values; the rest takes about a millisecond.
/// Requires: at least one column, each exists.
/// Errors: invalid_input for a column in device memory; those of encode_values; out_of_memory; cancelled.
Result<SampledGroupKeys> sample_group_keys(TableView table, std::span<std::size_t const> columns,
                                           Control const& control);

/// Encodes the columns, in parallel on the threads of the calling task arena. Attributes are packed when their ranges
/// together fit 64 bits, unless `form` asks for words (or row ids, which compare words too). Integers, dates, decimals,
/// floats (canonical) and booleans are taken relative to their smallest value; other types as open_keys does.
/// Packed words are borrowed from the only column when it has their layout already; then the table must outlive them.
/// `in_parts`: also from several batches, until gather_words is called.
/// Errors: usage when `form` is packed and the keys do not fit; out_of_memory; cancelled.
Result<EncodedGroupKeys> encode_group_keys(SampledGroupKeys keys, KeyForm form, Control const& control,
                                           bool in_parts = false);

/// Copies packed words that lie in parts, if they do, in parallel on the threads of the calling task arena.
/// Errors: out_of_memory, cancelled.
Result<void> gather_words(EncodedGroupKeys& keys, Control const& control);

/// Samples `columns` first. Errors: those of both.
Result<EncodedGroupKeys> encode_group_keys(TableView table, std::span<std::size_t const> columns, KeyForm form,
                                           Control const& control);

/// The words that choose a row's partition: the packed keys, or the first of several words. Borrows from `keys`.
EncodedKeys partition_words(EncodedGroupKeys const& keys);

}  // namespace garuda::keys
