// Strings and binary back from the integers of a ByteCoding.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "keys/codes/byte_coding.hpp"
#include "keys/codes/exact_divisor.hpp"

namespace garuda::keys {

/// Writes values of a ByteCoding. Bytes of several digits stand in a table: a division and a look-up for each table.
/// Immutable.
class ByteWriter {
 public:
  /// Cost: a few thousand entries of tables.
  explicit ByteWriter(ByteCoding const& coding);

  /// Bytes that `write` may write, whatever the value's length.
  std::size_t reach() const noexcept { return is_narrow_ ? kNarrowBytes : kMostCodedBytes; }

  /// Writes the value that has `code`, and anything behind it, reach() bytes together. Returns its length.
  std::size_t write(std::uint64_t code, char* value) const noexcept {
    return is_narrow_ ? write_with<kNarrowBytes>(code, value) : write_with<kMostCodedBytes>(code, value);
  }

 private:
  static constexpr std::size_t kNarrowBytes = 16;

  /// Bytes of the values that some digits' figures stand for, zero at other positions.
  struct Entry {
    std::array<std::uint64_t, kMostCodedBytes / 8> bytes{};
    std::uint64_t length = kMostCodedBytes;  ///< at which the value ends, at the latest
  };
  /// Consecutive digits; figures of less significant ones count less.
  struct Table {
    ExactDivisor size;
    std::vector<Entry> entries;
  };

  template <std::size_t kBytes>
  std::size_t write_with(std::uint64_t code, char* value) const noexcept;

  Entry constant_;
  std::vector<Table> tables_;  ///< the least significant digits first
  bool is_narrow_ = true;
};

template <std::size_t kBytes>
std::size_t ByteWriter::write_with(std::uint64_t code, char* value) const noexcept {
  std::array<std::uint64_t, kBytes / 8> bytes;
  std::copy_n(constant_.bytes.begin(), bytes.size(), bytes.begin());
  auto length = constant_.length;
  for (auto const& table : tables_) {
    auto const rest = table.size.quotient(code);
    auto const& entry = table.entries[code - rest * table.size.value()];
    code = rest;
    for (std::size_t w = 0; w < bytes.size(); ++w) bytes[w] |= entry.bytes[w];
    length = std::min(length, entry.length);
  }
  std::memcpy(value, bytes.data(), kBytes);
  return length;
}

}  // namespace garuda::keys
