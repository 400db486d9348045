#include "keys/key_layout.hpp"

#include <algorithm>
#include <bit>

#include "core/numbers/wide_integer.hpp"

namespace garuda::keys {

std::uint32_t packed_bits(std::span<CodeRange const> ranges) {
  UInt128 product = 1;
  std::uint32_t sum = 0;
  bool fits = true;
  auto const bits_of = [](UInt128 cardinality) {
    auto const last = cardinality - 1;
    auto const high = static_cast<std::uint64_t>(last >> 64);
    return static_cast<std::uint32_t>(high != 0 ? 64 + std::bit_width(high)
                                                : std::bit_width(static_cast<std::uint64_t>(last)));
  };
  for (auto const& range : ranges) {
    auto const wide = range.exceeds_64_bits();
    sum += wide ? 128 : bits_of(range.cardinality());
    // Neither factor passes 2^64 + 1, so that the product of two does not wrap.
    fits = fits && !wide;
    if (!fits) continue;
    auto const cardinality = range.cardinality();
    if (cardinality > (UInt128{1} << 64)) fits = false;
    if (fits && product > (UInt128{1} << 64) / cardinality) fits = false;
    if (fits) product *= cardinality;
  }
  return fits ? bits_of(product) : std::max<std::uint32_t>(sum, 65);
}

bool is_packed_in(KeyForm form, std::uint32_t packed_bits) {
  return packed_bits <= 64 && form != KeyForm::words && form != KeyForm::rowid;
}

RowPlaces place_attributes(std::span<CodeRange const> ranges) {
  constexpr auto kWord = UInt128{1} << 64;
  RowPlaces places;
  UInt128 product = kWord;  // of the attributes of the last word: the first one begins a word
  for (auto const& range : ranges) {
    auto& place = places.attributes.emplace_back();
    place.is_wide = range.exceeds_64_bits() || range.cardinality() > kWord;
    if (place.is_wide) continue;
    place.is_first = places.num_words == 0 || product > kWord / range.cardinality();
    product = place.is_first ? range.cardinality() : product * range.cardinality();
    if (place.is_first) ++places.num_words;
    place.word = places.num_words - 1;
  }
  for (std::size_t a = 0; a < ranges.size(); ++a) {
    if (!places.attributes[a].is_wide) continue;
    places.attributes[a].word = places.num_words;
    places.num_words += ranges[a].has_nulls ? 3 : 2;
  }
  return places;
}

std::uint32_t low_bits_of(std::uint64_t varying, std::uint32_t key_bits) {
  return varying == 0 ? key_bits : static_cast<std::uint32_t>(std::countr_zero(varying));
}

}  // namespace garuda::keys
