// Bounds of the packed words of keys: measured, or derived from the ranges of their codes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "keys/encoded_keys.hpp"
#include "keys/key_layout.hpp"

namespace garuda::keys {

/// Facts of words that are known once they are written, or follow from the range of the codes that they are made of.
struct PackedRange {
  std::uint64_t min = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t max = 0;
  std::uint64_t sample = 0;
  std::uint64_t varying = 0;
  bool has_words = false;

  void add(std::uint64_t word) noexcept {
    if (!has_words) sample = word;
    has_words = true;
    min = std::min(min, word);
    max = std::max(max, word);
    varying |= word ^ sample;
  }
  /// Only which bits vary: half of what reading the words costs where no instruction compares unsigned ones.
  template <class Word>
  void add_varying(Word const* words, std::size_t count) noexcept {
    if (count == 0) return;
    Word differing = 0;
    for (std::size_t i = 0; i < count; ++i) differing |= words[i] ^ words[0];
    add(std::uint64_t{words[0]});
    varying |= differing;
  }
  /// Three reductions over plain loads, so that compilers vectorise them.
  template <class Word>
  void add(Word const* words, std::size_t count) noexcept {
    if (count == 0) return;
    auto least = words[0];
    auto largest = words[0];
    Word differing = 0;
    for (std::size_t i = 0; i < count; ++i) {
      least = std::min(least, words[i]);
      largest = std::max(largest, words[i]);
      differing |= words[i] ^ words[0];
    }
    add(PackedRange{least, largest, words[0], differing, true});
  }
  void add(PackedRange const& other) noexcept {
    if (!other.has_words) return;
    add(other.min);
    add(other.max);
    varying |= other.varying | (other.sample ^ sample);
  }
};

/// The lowest bits, in which no two words differ.
inline std::uint64_t shared_ends(std::uint64_t varying) {
  return varying == 0 ? ~std::uint64_t{0} : (varying & -varying) - 1;
}

/// The range of the words of one attribute without nulls, from its codes. Subtracting the code of position 0 keeps
/// the lowest differing bit where it is.
inline PackedRange range_of_codes(CodeRange const& codes, CodeRange const& layout) {
  if (!codes.has_values) return {};
  PackedRange range{layout.position(static_cast<std::uint64_t>(codes.min), true),
                    layout.position(static_cast<std::uint64_t>(codes.max), true), 0, codes.varying, true};
  // Where keys are words as they are, negative ones are the largest: the least and the largest word that end as all do.
  if (range.min > range.max) {
    auto const shared = shared_ends(range.varying);
    range.min &= shared;
    range.max |= ~shared;
  }
  return range;
}

/// Bounds of the words of several attributes: each at its least and at its largest position, ending as all words do.
inline void bound_by_positions(std::span<CodeRange const> codes, KeyLayout const& layout, PackedRange& words) {
  if (!words.has_words) return;
  words.min = words.max = 0;
  for (std::size_t a = 0; a < codes.size(); ++a) {
    auto const& positions = layout.positions(a);
    auto const cardinality = static_cast<std::uint64_t>(positions.cardinality());
    auto const position = [&](UInt128 code) { return positions.position(static_cast<std::uint64_t>(code), true); };
    bool const has_null = codes[a].has_nulls || !codes[a].has_values;
    words.min = words.min * cardinality + (has_null ? 0 : position(codes[a].min));
    words.max = words.max * cardinality + (codes[a].has_values ? position(codes[a].max) : 0);
  }
  auto const shared = shared_ends(words.varying);
  words.min = (words.min & ~shared) | (words.sample & shared);
  words.max = (words.max & ~shared) | (words.sample & shared);
}

inline void set_range(PackedRange const& range, EncodedKeys& keys) {
  keys.common_low_bits = low_bits_of(range.varying, keys.key_bits);
  if (!range.has_words) return;
  keys.min = range.min;
  keys.max = range.max;
}

}  // namespace garuda::keys
