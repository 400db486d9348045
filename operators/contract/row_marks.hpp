// Rows of a side that have a match, gathered from many slices.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace garuda::contract {

/// Bit i of word i / 64: row i of the side has a match.
using MarkBitmap = std::vector<std::uint64_t>;

constexpr std::uint64_t bitmap_words(std::uint64_t rows) noexcept { return (rows + 63) / 64; }

/// Packs flags, 0 or 1 a row, into the words of a bitmap; bits behind the last one are 0. Requires: flags.size() is a
/// multiple of 64, those behind the rows being 0.
inline void pack_flags(std::span<std::uint8_t const> flags, std::uint64_t* words) noexcept {
  constexpr std::uint64_t kToTopByte = 0x0102'0408'1020'4080;  // flag i of eight to bit 56 + i
  for (std::size_t w = 0; w < flags.size() / 64; ++w) {
    std::uint64_t word = 0;
    for (std::size_t byte = 0; byte < 8; ++byte) {
      std::uint64_t eight;
      std::memcpy(&eight, flags.data() + 64 * w + 8 * byte, sizeof(eight));
      word |= eight * kToTopByte >> 56 << 8 * byte;
    }
    words[w] = word;
  }
}

/// A bitmap that several threads set bits of at once; bits are never cleared.
class RowMarks {
 public:
  explicit RowMarks(std::uint64_t rows) : words_(bitmap_words(rows)) {}

  void set(std::uint64_t row) noexcept { add_word(row / 64, std::uint64_t{1} << row % 64); }

  bool is_set(std::uint64_t row) const noexcept {
    return (std::atomic_ref(words_[row / 64]).load(std::memory_order_relaxed) >> row % 64 & 1) != 0;
  }

  /// Sets the bits of `marks`, the first of which is that of row `first`. Bits beyond the rows are 0.
  void add(std::span<std::uint64_t const> marks, std::uint64_t first) noexcept {
    auto const shift = first % 64;
    auto const word = first / 64;
    for (std::size_t i = 0; i < marks.size(); ++i) {
      add_word(word + i, marks[i] << shift);
      if (shift != 0) add_word(word + i + 1, marks[i] >> (64 - shift));
    }
  }

  /// Sets the bits of the rows [first, end).
  void set_all(std::uint64_t first, std::uint64_t end) noexcept {
    while (first < end) {
      auto const bits = std::min(end - first, 64 - first % 64);
      add_word(first / 64, ~std::uint64_t{0} >> (64 - bits) << first % 64);
      first += bits;
    }
  }

  /// The number of marks, once no thread sets bits any more.
  std::uint64_t count() const noexcept {
    std::uint64_t ones = 0;
    for (auto const word : words_) ones += static_cast<std::uint64_t>(std::popcount(word));
    return ones;
  }
  MarkBitmap take() noexcept { return std::move(words_); }
  MarkBitmap const& words() const noexcept { return words_; }

 private:
  void add_word(std::uint64_t word, std::uint64_t bits) noexcept {
    if (bits != 0) std::atomic_ref(words_[word]).fetch_or(bits, std::memory_order_relaxed);
  }

  mutable MarkBitmap words_;  // atomic_ref of C++20 takes no constant
};

}  // namespace garuda::contract
