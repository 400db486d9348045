// Strings and binary back from the integers of a ByteCoding.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "keys/codes/byte_coding.hpp"

namespace garuda::keys {

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
