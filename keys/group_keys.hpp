// Group-by key columns → fixed-width words on which equality is the keys' equality, nulls included; and back from them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/numbers/wide_integer.hpp"
#include "core/variable_value.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/table.hpp"
#include "keys/codes/attribute_reader.hpp"
#include "keys/codes/byte_coding.hpp"
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

/// Decodes key columns of integers, decimals of at most 64 bits, dates, times, floats, and of strings and binary whose
/// codes are those of their bytes. Safe to use from several threads.
class KeyDecoder {
 public:
  /// nullopt when a column cannot be told from its codes (booleans, dictionaries, …).
  /// `types`: of the columns to decode; that of a key column, or of its values as views.
  static std::optional<KeyDecoder> create(EncodedGroupKeys const& keys, std::vector<DataType> types);

  std::size_t num_columns() const noexcept { return attributes_.size(); }

  /// Most rows that are decoded at once: their bytes are counted by the offsets of the columns.
  std::uint64_t most_rows() const noexcept { return most_rows_; }

  struct Column {
    ArrayView array;  ///< refers to the others
    AlignedBuffer values;
    AlignedBuffer offsets;
    AlignedBuffer views;
    std::unique_ptr<ViewedBytes> viewed;  ///< that the views refer to: the values
    AlignedBuffer validity;               ///< empty: no nulls
  };
  /// The position of the row's word that has column `index`.
  std::uint32_t word_of(std::size_t index) const { return attributes_.at(index).word; }
  /// Column `index` of the keys that have these words where word_of says, a row each, not folded; floats in canonical
  /// form. In parallel on the calling task arena. Errors: out_of_memory, cancelled.
  /// Requires: at most most_rows() words.
  Result<Column> decode(std::size_t index, std::span<std::uint64_t const> words, Control const& control) const;

 private:
  struct Attribute {
    DataType type;
    CodeInverse inverse = CodeInverse::none;
    std::shared_ptr<ByteCoding const> bytes;
    std::optional<ByteWriter> writer{};  ///< of these
    std::uint32_t word = 0;
    std::optional<ExactDivisor> divisor{
        1};  ///< what a step of this attribute counts in a word; nullopt: it has one value
    std::optional<ExactDivisor> cardinality;  ///< nullopt: nothing of the word stands above it
    std::uint64_t smallest = 0;               ///< code at the first position that is not null
    bool has_nulls = false;

    std::uint64_t position(std::uint64_t packed) const noexcept {
      if (!divisor) return 0;
      auto const quotient = divisor->quotient(packed);
      return cardinality ? cardinality->remainder(quotient) : quotient;
    }
    bool is_null(std::uint64_t packed) const noexcept { return has_nulls && position(packed) == 0; }
    /// nullopt: null.
    std::optional<std::uint64_t> code(std::uint64_t packed) const noexcept {
      auto const at = position(packed);
      if (has_nulls && at == 0) return std::nullopt;
      return smallest - (has_nulls ? 1 : 0) + at;
    }
    /// Calls use(i, bytes, length) for each as ByteWriter::write does; of nulls for any value.
    template <class Use>
    void write_bytes(std::span<std::uint64_t const> packed, Use const& use) const {
      std::array<std::uint64_t, 1'024> codes;
      auto const first = smallest - (has_nulls ? 1 : 0);
      for (std::size_t begin = 0; begin < packed.size(); begin += codes.size()) {
        auto const count = std::min(codes.size(), packed.size() - begin);
        for (std::size_t i = 0; i < count; ++i) codes[i] = first + position(packed[begin + i]);
        writer->write(std::span(codes).first(count),
                      [=](std::size_t i, auto const& value, std::size_t length) { use(begin + i, value, length); });
      }
    }
  };
  static Result<void> decode_bytes(Attribute const& attribute, std::span<std::uint64_t const> words,
                                   Control const& control, Column& column);
  template <class Offset>
  static Result<void> decode_bytes(Attribute const& attribute, std::span<std::uint64_t const> words,
                                   Control const& control, Column& column);
  template <class Offset>
  static Result<void> decode_even_bytes(Attribute const& attribute, std::span<std::uint64_t const> words,
                                        Control const& control, Column& column);
  static Result<std::int64_t> decode_validity(Attribute const& attribute, std::span<std::uint64_t const> words,
                                              Control const& control, Column& column);
  template <class T, class ValueOf>
  static void write(Attribute const& attribute, std::span<std::uint64_t const> words, std::byte* out, ValueOf value_of);
  static void write_values(Attribute const& attribute, std::span<std::uint64_t const> words, std::byte* out);

  std::vector<Attribute> attributes_;
  std::uint64_t most_rows_ = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace garuda::keys
