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

std::uint32_t num_words_of(CodeRange const& range) {
  auto const last = range.max - range.min;
  return last >> 32 == 0 ? 1 : last >> 64 == 0 ? 2 : 4;
}

std::uint32_t null_words_of(std::span<CodeRange const> ranges) {
  auto const nullable = std::ranges::count_if(ranges, &CodeRange::has_nulls);
  return static_cast<std::uint32_t>((nullable + 31) / 32);
}

std::uint32_t low_bits_of(std::uint64_t varying, std::uint32_t key_bits) {
  return varying == 0 ? key_bits : static_cast<std::uint32_t>(std::countr_zero(varying));
}

std::uint32_t KeyLayout::num_value_words() const {
  std::uint32_t words = 0;
  for (auto const& range : ranges) words += num_words_of(range);
  return words;
}

}  // namespace garuda::keys
