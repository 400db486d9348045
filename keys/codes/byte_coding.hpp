// Strings and binary of few bytes as integers of the same order, and back.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/numbers/wide_integer.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "garuda/types.hpp"
#include "keys/codes/byte_kernels.hpp"
#include "keys/codes/key_column.hpp"

namespace garuda::keys {

/// Divides by a product and one correction.
class ExactDivisor {
 public:
  /// Requires: divisor > 0.
  explicit ExactDivisor(std::uint64_t divisor)
      : divisor_(divisor), reciprocal_(std::numeric_limits<std::uint64_t>::max() / divisor) {}

  std::uint64_t value() const noexcept { return divisor_; }
  /// value / divisor.
  std::uint64_t quotient(std::uint64_t value) const noexcept {
    // The reciprocal lacks less than 1 of 2^64 / divisor, so that this quotient lacks at most 1.
    auto const low = static_cast<std::uint64_t>((UInt128{value} * reciprocal_) >> 64);
    return low + (value - low * divisor_ >= divisor_ ? 1 : 0);
  }
  /// value % divisor.
  std::uint64_t remainder(std::uint64_t value) const noexcept { return value - quotient(value) * divisor_; }

 private:
  std::uint64_t divisor_;
  std::uint64_t reciprocal_;
};

/// Most bytes of a value that has such an integer.
inline constexpr std::size_t kMostCodedBytes = 32;

/// The bytes that values have in common, position by position.
struct ByteShape {
  using Bytes = std::array<std::uint8_t, kMostCodedBytes>;

  std::size_t shortest = kMostCodedBytes;  ///< bytes of a value
  std::size_t longest = 0;                 ///< likewise; less than `shortest`: there are no values
  Bytes least;                             ///< at each position, of the values that reach beyond it; 255: none does
  Bytes greatest{};                        ///< likewise; 0

  ByteShape() { least.fill(0xFF); }
  void add(ByteShape const& other) noexcept;
};

/// Numbers whose digits are the bytes of a value, each in the range that its position has, and an end of value before
/// the least byte where some values end. Codes are below 2^64, are equal if and only if the values are, and have the
/// order of the values' bytes. Immutable.
class ByteCoding {
 public:
  /// nullopt: values of this shape take more than 64 bits.
  static std::optional<ByteCoding> of(ByteShape const& shape);

  /// No code is greater.
  std::uint64_t last_code() const noexcept { return last_code_; }
  std::size_t longest() const noexcept { return shape_.longest; }
  /// Whether all values have as many bytes.
  bool has_one_length() const noexcept { return shape_.shortest == shape_.longest; }

  /// Writes the codes of rows [begin, begin + length) of `array`, not those of nulls. Requires: values of the shape.
  void read(ArrayView const& array, DataType const& type, std::int64_t begin, std::int64_t length,
            std::uint64_t* codes) const;
  /// Writes the codes of values that need not be of the shape: last_code() + 1 where they are not.
  void read_others(ArrayView const& array, DataType const& type, std::int64_t begin, std::int64_t length,
                   std::uint64_t* codes) const;

 private:
  friend class ByteWriter;

  /// A position at which values differ.
  struct Digit {
    std::uint64_t weight = 1;
    std::uint32_t position = 0;
    std::uint32_t least = 0;
    bool may_end = false;  ///< digit 0: the value ends before it
    ExactDivisor radix;
  };

  std::uint64_t sum(std::uint8_t const* bytes) const noexcept;
  /// `radices`: of each place of a value. nullopt: kernels cannot sum such values.
  std::optional<ByteSums> sums_of(std::span<std::uint32_t const> radices) const;
  template <std::size_t kDigits>
  void read_equal_lengths(ArrayView const& array, DataType const& type, std::int64_t begin, std::int64_t length,
                          std::uint64_t* codes) const;

  /// Reads values of any lengths; `kOthers`: values need not be of the shape.
  template <bool kOthers>
  void read_any(ArrayView const& array, DataType const& type, std::int64_t begin, std::int64_t length,
                std::uint64_t* codes) const;
  /// Reads values by the machine's kernels; false: they do not take such values.
  bool read_by_kernel(ArrayView const& array, DataType const& type, std::int64_t begin, std::int64_t length,
                      std::uint64_t* codes) const;
  template <std::size_t kSteps, bool kOthers>
  void read_padded(ArrayView const& array, DataType const& type, std::int64_t begin, std::int64_t length,
                   std::uint64_t* codes) const;

  ByteShape shape_;  ///< where there are no values: that of the empty one
  std::uint64_t last_code_ = 0;
  std::vector<Digit> digits_;  ///< the most significant one first
  /// The number that the bytes' products with their weights lack, for each length, modulo 2^64.
  std::array<std::uint64_t, kMostCodedBytes + 1> of_length_{};
  std::optional<ByteSums> sums_;  ///< the same for kernels
};

/// A coding of the values of all columns together; nullptr when there is none. Looks at every value, in parallel on the
/// threads of the calling task arena. Requires: columns of strings or binary, not dictionaries. Errors: cancelled.
Result<std::shared_ptr<ByteCoding const>> find_byte_coding(std::span<KeyColumn const> columns, Control const& control);

/// Writes values of a ByteCoding. Bytes of several digits stand in a table: a division and a look-up for each table.
/// Immutable.
class ByteWriter {
 public:
  /// Cost: a few thousand entries of tables.
  explicit ByteWriter(ByteCoding const& coding);

  /// Calls use(i, bytes, length) for the values that have `codes`, in order: the value's bytes and others behind them,
  /// as an array of words, and its length. Of what is no code there is some value.
  template <class Use>
  void write(std::span<std::uint64_t const> codes, Use const& use) const {
    if (is_narrow_ && has_one_length_)
      write_with<kNarrowBytes, true>(codes, use);
    else if (is_narrow_)
      write_with<kNarrowBytes, false>(codes, use);
    else if (has_one_length_)
      write_with<kMostCodedBytes, true>(codes, use);
    else
      write_with<kMostCodedBytes, false>(codes, use);
  }

 private:
  static constexpr std::size_t kNarrowBytes = 16;
  /// Values that pass one table after the other together.
  static constexpr std::size_t kAtOnce = 64;

  /// Consecutive digits; figures of less significant ones count less. An entry for the figures of all digits.
  struct Table {
    ExactDivisor size;
    std::vector<std::uint64_t> bytes;   ///< of the values, zero at other positions: 16 or 32 an entry
    std::vector<std::uint8_t> lengths;  ///< at which the value ends, at the latest; empty: all have one length
  };

  template <std::size_t kBytes, bool kOneLength, class Use>
  void write_with(std::span<std::uint64_t const> codes, Use const& use) const;

  std::array<std::uint64_t, kMostCodedBytes / 8> constant_{};
  std::size_t longest_ = 0;
  std::vector<Table> tables_;  ///< the least significant digits first
  bool is_narrow_ = true;
  bool has_one_length_ = true;
};

template <std::size_t kBytes, bool kOneLength, class Use>
void ByteWriter::write_with(std::span<std::uint64_t const> codes, Use const& use) const {
  constexpr std::size_t kWords = kBytes / 8;
  std::array<std::uint64_t, kAtOnce> rest;
  std::array<std::array<std::uint64_t, kWords>, kAtOnce> values;
  std::array<std::uint8_t, kAtOnce> lengths;
  for (std::size_t begin = 0; begin < codes.size(); begin += kAtOnce) {
    auto const count = std::min(kAtOnce, codes.size() - begin);
    std::copy_n(codes.data() + begin, count, rest.begin());
    std::array<std::uint64_t, kWords> constant;
    std::copy_n(constant_.begin(), kWords, constant.begin());
    values.fill(constant);
    if constexpr (!kOneLength) lengths.fill(static_cast<std::uint8_t>(longest_));
    for (auto const& table : tables_) {
      auto const size = table.size;
      auto const* const bytes = table.bytes.data();
      auto const* const ends = table.lengths.data();
      for (std::size_t i = 0; i < count; ++i) {
        auto const quotient = size.quotient(rest[i]);
        auto const entry = rest[i] - quotient * size.value();
        rest[i] = quotient;
        for (std::size_t w = 0; w < kWords; ++w) values[i][w] |= bytes[entry * kWords + w];
        if constexpr (!kOneLength) lengths[i] = std::min(lengths[i], ends[entry]);
      }
    }
    for (std::size_t i = 0; i < count; ++i) use(begin + i, values[i], kOneLength ? longest_ : std::size_t{lengths[i]});
  }
}

}  // namespace garuda::keys
