// Group-by keys back from their words.
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
#include "core/variable_value.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "keys/codes/byte_coding.hpp"
#include "keys/group_keys.hpp"

namespace garuda::keys {

/// Decodes key columns of integers, decimals of at most 64 bits, dates, times, floats, and of strings and binary whose
/// codes are those of their bytes. Safe to use from several
/// threads.
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
