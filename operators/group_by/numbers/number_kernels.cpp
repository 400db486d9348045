// Loops over numbers, which the compiler vectorises for each set of instructions (GARUDA_KERNELS).
#include <cstring>
#include <utility>

#include "operators/group_by/numbers/number_kernels.hpp"

namespace garuda::group_by {
namespace {

template <class Integer>
void extremes(void const* values, std::size_t count, Integer* least, Integer* greatest) {
  auto low = *least;
  auto high = *greatest;
  for (std::size_t i = 0; i < count; ++i) {
    Integer value;
    std::memcpy(&value, static_cast<char const*>(values) + i * sizeof(Integer), sizeof(Integer));
    low = value < low ? value : low;
    high = value > high ? value : high;
  }
  *least = low;
  *greatest = high;
}

template <std::uint32_t kPresent>
void write_terms(std::uint32_t const* x, std::uint32_t const* y, std::size_t count, ProductTerms const& terms,
                 void* words) {
  using Terms = ProductTerms;
  auto const shifts = terms;
  auto const has = [](Terms::Term term) { return (kPresent >> term & 1) != 0; };
  constexpr bool kHasX = (kPresent & (1U << Terms::kX | 1U << Terms::kXX | 1U << Terms::kXY)) != 0;
  constexpr bool kHasY = (kPresent & (1U << Terms::kY | 1U << Terms::kYY | 1U << Terms::kXY)) != 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    if constexpr (kHasX) a = x[i];
    if constexpr (kHasY) b = y[i];
    std::uint64_t word = 0;
    if (has(Terms::kX)) word += a << shifts.shifts[Terms::kX];
    if (has(Terms::kY)) word += b << shifts.shifts[Terms::kY];
    if (has(Terms::kXX)) word += a * a << shifts.shifts[Terms::kXX];
    if (has(Terms::kYY)) word += b * b << shifts.shifts[Terms::kYY];
    if (has(Terms::kXY)) word += a * b << shifts.shifts[Terms::kXY];
    std::memcpy(static_cast<char*>(words) + i * sizeof(word), &word, sizeof(word));
  }
}

using WriteTerms = void (*)(std::uint32_t const*, std::uint32_t const*, std::size_t, ProductTerms const&, void*);

template <std::uint32_t... kPresent>
WriteTerms write_terms_of(std::uint32_t present, std::integer_sequence<std::uint32_t, kPresent...>) {
  static constexpr WriteTerms kWays[] = {write_terms<kPresent>...};
  return kWays[present];
}

void write_products(std::uint32_t const* x, std::uint32_t const* y, std::size_t count, ProductTerms const& terms,
                    void* words) {
  constexpr std::uint32_t kWays = 1U << ProductTerms::kTerms;
  write_terms_of(terms.present, std::make_integer_sequence<std::uint32_t, kWays>())(x, y, count, terms, words);
}

/// value · 2^by of which a word is seen; nothing of what is moved out of it.
inline std::uint64_t moved(std::uint64_t value, std::int64_t by) {
  auto const up = static_cast<std::uint64_t>(by) < 64 ? value << (by & 63) : 0;
  return static_cast<std::uint64_t>(-by) < 64 ? value >> (-by & 63) : up;
}

/// Bits: of the floats' width.
template <class Bits, bool kSquared>
void float_parts_of(void const* floats, std::size_t count, std::int32_t first, std::uint32_t bits, void* parts) {
  constexpr int kFractionBits = sizeof(Bits) == 4 ? 23 : 52;
  constexpr std::int64_t kMostExponent = sizeof(Bits) == 4 ? 0xff : 0x7ff;
  constexpr std::int64_t kUnit = sizeof(Bits) == 4 ? -150 : -1075;  // of the last bit, where the exponent is 0
  constexpr auto kImplicit = std::uint64_t{1} << kFractionBits;
  auto const low_mask = bits < 64 ? (std::uint64_t{1} << bits) - 1 : ~std::uint64_t{0};
  auto const high_mask = bits > 64 ? (std::uint64_t{1} << (bits - 64)) - 1 : 0;
  for (std::size_t i = 0; i < count; ++i) {
    Bits loaded;
    std::memcpy(&loaded, static_cast<char const*>(floats) + i * sizeof(loaded), sizeof(loaded));
    std::uint64_t const value = loaded;
    auto const exponent = static_cast<std::int64_t>(value >> kFractionBits) & kMostExponent;
    auto magnitude = (value & (kImplicit - 1)) | (exponent != 0 ? kImplicit : 0);
    magnitude = exponent == kMostExponent ? 0 : magnitude;
    auto const position = (exponent != 0 ? exponent : 1) + kUnit;
    auto low = magnitude;
    std::uint64_t high = 0;
    if (kSquared) {
      auto const a = magnitude & 0xffffffff;
      auto const b = magnitude >> 32;
      auto const middle = a * b;  // twice, at 2^32
      low = a * a + (middle << 33);
      high = b * b + (middle >> 31) + (low < a * a ? 1 : 0);
    }
    auto const by = (kSquared ? 2 : 1) * position - first;
    auto const part_low = (moved(low, by) | moved(high, by + 64)) & low_mask;
    auto const part_high = (moved(low, by - 64) | moved(high, by)) & high_mask;
    // With a sign: the complement, and one more.
    auto const sign = kSquared ? 0 : ~(value >> (8 * sizeof(Bits) - 1)) + 1;
    auto const word_low = (part_low ^ sign) - sign;
    auto const word_high = (part_high ^ sign) + (part_low == 0 ? sign & 1 : 0);
    auto* const part = static_cast<char*>(parts) + i * 2 * sizeof(std::uint64_t);
    std::memcpy(part, &word_low, sizeof(word_low));
    std::memcpy(part + sizeof(word_low), &word_high, sizeof(word_high));
  }
}

template <class Bits>
void float_parts(void const* floats, std::size_t count, bool squared, std::int32_t first, std::uint32_t bits,
                 void* parts) {
  if (squared)
    float_parts_of<Bits, true>(floats, count, first, bits, parts);
  else
    float_parts_of<Bits, false>(floats, count, first, bits, parts);
}

constexpr NumberKernels kNumberKernels{extremes<std::int32_t>, extremes<std::int64_t>, write_products,
                                       float_parts<std::uint32_t>, float_parts<std::uint64_t>};

}  // namespace

GARUDA_KERNELS(NumberKernels, number_kernels, kNumberKernels)

}  // namespace garuda::group_by
