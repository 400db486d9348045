// Bytes that Snappy compressed, of a format that its project describes (format_description.txt).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace garuda::io {

/// What is compressed, which tells what its stream is made of. Any stream stands for the same bytes either way.
enum class SnappyContent : std::uint8_t {
  bytes,    ///< copies of a few bytes behind one another, seldom a literal
  words64,  ///< a short literal and a copy for each word: the bytes that differ from those of a word before it
};

/// A stream of literals and of copies of bytes before them. A library that does this well was not kept: its loop takes
/// 1.2 times as long for TPC-H's prices and keys, twice for its keys of orders, 1.0 times for its comments, and calls
/// into the C library for each of its moves of 64 bytes (two cores of an AMD EPYC, libsnappy 1.1.9, 2026-11-30).
class SnappyStream {
 public:
  /// nullopt: it does not begin with a length. `bytes` must outlive this.
  static std::optional<SnappyStream> open(std::span<std::uint8_t const> bytes);

  /// How many bytes it stands for, as it says.
  std::size_t length() const noexcept { return length_; }

  /// The bytes, where the stream is one literal, as pages that do not compress are; else none.
  std::span<std::uint8_t const> literal() const noexcept;

  /// Writes the bytes to `out`, of length() bytes. False: the stream is damaged; `out` then has anything.
  bool write_to(std::span<std::uint8_t> out, SnappyContent content) const;

 private:
  SnappyStream(std::span<std::uint8_t const> tags, std::size_t length) : tags_(tags), length_(length) {}

  std::span<std::uint8_t const> tags_;
  std::size_t length_;
};

}  // namespace garuda::io
