// Sums in vectors of four words, and loops over floats and values side by side, which the compiler makes of the
// instructions of each set (GARUDA_KERNELS).
#include "operators/cpu/group_by/sum_kernels.hpp"

#include <cstring>
#include <type_traits>

#include "core/numbers/wide_integer.hpp"

namespace garuda::cpu {
namespace {

using Words4 [[gnu::vector_size(32)]] = std::uint64_t;

/// Rows whose words are brought together before any is added: one by one, each would be read before its words have left
/// the core's store buffer.
constexpr std::size_t kSumRowsAtOnce = 256;

inline void const* word_at(void const* words, std::size_t i) noexcept {
  return static_cast<char const*>(words) + i * sizeof(std::uint64_t);
}

/// The words of the columns as rows, zeros where there is no fourth column.
template <std::size_t kColumns>
void write_sum_rows(void const* const* columns, std::uint64_t* rows) noexcept {
  for (std::size_t i = 0; i < kSumRowsAtOnce; i += 4) {
    Words4 words[4] = {};
    for (std::size_t w = 0; w < kColumns; ++w) std::memcpy(&words[w], word_at(columns[w], i), sizeof(Words4));
    Words4 const even_ab = __builtin_shufflevector(words[0], words[1], 0, 4, 2, 6);
    Words4 const odd_ab = __builtin_shufflevector(words[0], words[1], 1, 5, 3, 7);
    Words4 const even_cd = __builtin_shufflevector(words[2], words[3], 0, 4, 2, 6);
    Words4 const odd_cd = __builtin_shufflevector(words[2], words[3], 1, 5, 3, 7);
    Words4 const by_row[4] = {
        __builtin_shufflevector(even_ab, even_cd, 0, 1, 4, 5), __builtin_shufflevector(odd_ab, odd_cd, 0, 1, 4, 5),
        __builtin_shufflevector(even_ab, even_cd, 2, 3, 6, 7), __builtin_shufflevector(odd_ab, odd_cd, 2, 3, 6, 7)};
    std::memcpy(rows + 4 * i, by_row, sizeof(by_row));
  }
}

/// Rows that are fewer than are brought together at once.
template <std::size_t kColumns>
void write_last_sum_rows(void const* const* columns, std::size_t count, std::uint64_t* rows) noexcept {
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t w = 0; w < kSumRowWords; ++w) {
      rows[4 * i + w] = 0;
      if (w < kColumns) std::memcpy(&rows[4 * i + w], word_at(columns[w], i), sizeof(std::uint64_t));
    }
}

template <std::size_t kColumns>
void add_sum_rows(void const* const* columns, std::uint32_t const* groups, std::size_t count, std::uint64_t* sums) {
  alignas(64) std::uint64_t rows[kSumRowWords * kSumRowsAtOnce];
  std::uint64_t ones[kSumRowsAtOnce];
  for (auto& one : ones) one = 1;
  for (std::size_t first = 0; first < count; first += kSumRowsAtOnce) {
    void const* from[kColumns];
    for (std::size_t w = 0; w < kColumns; ++w) from[w] = columns[w] == nullptr ? ones : word_at(columns[w], first);
    auto const made = count - first < kSumRowsAtOnce ? count - first : kSumRowsAtOnce;
    if (made == kSumRowsAtOnce)
      write_sum_rows<kColumns>(from, rows);
    else
      write_last_sum_rows<kColumns>(from, made, rows);
    for (std::size_t i = 0; i < made; ++i) {
      auto* const at = sums + kSumRowWords * std::size_t{groups[first + i]};
      Words4 sum;
      Words4 row;
      std::memcpy(&sum, at, sizeof(sum));
      std::memcpy(&row, rows + kSumRowWords * i, sizeof(row));
      sum += row;
      std::memcpy(at, &sum, sizeof(sum));
    }
  }
}

constexpr SumKernels kSumKernels{add_sum_rows<3>, add_sum_rows<4>};

template <class Value>
Value value_at(void const* values, std::size_t i) noexcept {
  Value value;
  std::memcpy(&value, static_cast<char const*>(values) + i * sizeof(Value), sizeof(Value));
  return value;
}

template <class Float>
using BitsOf = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;

/// Bits: signed, of the floats' width.
template <class Bits>
void magnitudes(void const* floats, std::size_t count, Magnitudes* seen) {
  constexpr auto kMagnitude = static_cast<Bits>(~std::uint64_t{0} >> (65 - 8 * sizeof(Bits)));  // all but the sign
  Bits least = kMagnitude;
  Bits largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    auto const magnitude = static_cast<Bits>(value_at<Bits>(floats, i) & kMagnitude);
    auto const below = static_cast<Bits>((magnitude - 1) & kMagnitude);  // of 0 the greatest
    least = below < least ? below : least;
    largest = magnitude > largest ? magnitude : largest;
  }
  if (largest == 0) return;
  auto const low = static_cast<std::uint64_t>(least);
  auto const high = static_cast<std::uint64_t>(largest);
  if (low < seen->least_less_one) seen->least_less_one = low;
  if (high > seen->largest) seen->largest = high;
}

inline std::uint64_t bits_of(double value) noexcept {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

template <class Float>
void split_floats(void const* floats, std::size_t count, FloatSplit split, std::uint64_t* low, std::uint64_t* high) {
  constexpr std::uint64_t kBias = std::uint64_t{1} << 51;  // keeps upper parts, moved as unsigned words, above 0
  auto const low_bits = split.low_bits;
  auto const high_shift = 64 - low_bits;
  auto const zero_upper = bits_of(split.upper_carrier) - kBias;
  auto const zero_lower = bits_of(split.lower_carrier);
  auto const low_offset = zero_lower + (kBias << low_bits);
  for (std::size_t i = 0; i < count; ++i) {
    auto const value = static_cast<double>(value_at<Float>(floats, i));
    double const upper = value + split.upper_carrier;
    double const rest = value - (upper - split.upper_carrier);
    auto const biased = bits_of(upper) - zero_upper;
    auto const lower = bits_of(rest + split.lower_carrier);
    low[i] = (biased << low_bits) + (lower - low_offset);
    auto const borrow =
        static_cast<std::int64_t>(lower) < static_cast<std::int64_t>(zero_lower) ? ~std::uint64_t{0} : 0;
    high[i] = ((biased + borrow) >> high_shift) - (kBias >> high_shift);
  }
}

/// A float between -2^63 and 2^63 as an integer, of which it loses what is behind the point; 0 for others. The bound is
/// one of bits: a comparison of floats would be a branch that keeps the loop from vectors.
template <class Float>
std::int64_t integer_of(Float value) noexcept {
  using Bits = BitsOf<Float>;
  constexpr auto kMagnitude = static_cast<Bits>(~std::uint64_t{0} >> (65 - 8 * sizeof(Bits)));
  constexpr auto kBound = sizeof(Float) == 4 ? Bits{0x5F00'0000} : static_cast<Bits>(0x43E0'0000'0000'0000);
  Bits bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  bits &= static_cast<Bits>(-static_cast<Bits>((bits & kMagnitude) < kBound ? 1 : 0));
  Float inside = 0;
  std::memcpy(&inside, &bits, sizeof(bits));
  return static_cast<std::int64_t>(inside);
}

template <class Float>
bool to_integers(void const* floats, std::size_t count, std::int64_t* integers) {
  std::int64_t others = 0;
  for (std::size_t i = 0; i < count; ++i) {
    auto const value = value_at<Float>(floats, i);
    integers[i] = integer_of(value);
    others += static_cast<Float>(integers[i]) != value ? 1 : 0;
  }
  return others == 0;
}

/// The gain of an integer that becomes the float64 next to it. That of a positive one is found by its negative: there
/// the furthest float64, -2^63, is an integer of 64 bits, too.
inline std::int64_t rounding_of(std::int64_t value) noexcept {
  auto const negative = value > 0 ? -value : value;
  auto const gained = static_cast<std::int64_t>(static_cast<double>(negative)) - negative;
  return value > 0 ? -gained : gained;
}

void round_int64(void const* integers, std::size_t count, std::uint64_t* low, std::uint64_t* high) {
  for (std::size_t i = 0; i < count; ++i) {
    auto const value = value_at<std::int64_t>(integers, i);
    low[i] = static_cast<std::uint64_t>(value) + static_cast<std::uint64_t>(rounding_of(value));
    high[i] = static_cast<std::uint64_t>(value >> 63);  // also of 2^63, whose low word has the sign's bit
  }
}

constexpr FloatKernels kFloatKernels{
    magnitudes<std::int32_t>, magnitudes<std::int64_t>, split_floats<float>, split_floats<double>,
    to_integers<float>,       to_integers<double>,      round_int64};

constexpr std::uint64_t kSignBit = std::uint64_t{1} << 63;

/// The sum of unsigned words whose halves were added up apart, less `count` times `offset`.
RunSum sum_of(std::uint64_t low_halves, std::uint64_t high_halves, std::size_t count, std::uint64_t offset) noexcept {
  auto const sum = UInt128{low_halves} + (UInt128{high_halves} << 32) - UInt128{count} * offset;
  return {static_cast<std::uint64_t>(sum), static_cast<std::uint64_t>(sum >> 64)};
}

template <class T>
RunSum sum(void const* values, std::size_t count) {
  if constexpr (sizeof(T) == 4) {
    std::int64_t total = 0;
    for (std::size_t i = 0; i < count; ++i) total += value_at<T>(values, i);
    return {static_cast<std::uint64_t>(total), static_cast<std::uint64_t>(total >> 63)};
  } else {
    // Signed words are added as their distance from the least one.
    constexpr auto kOffset = static_cast<T>(~T{0}) < 0 ? kSignBit : 0;
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    for (std::size_t i = 0; i < count; ++i) {
      auto const word = static_cast<std::uint64_t>(value_at<T>(values, i)) ^ kOffset;
      low += word & 0xFFFF'FFFF;
      high += word >> 32;
    }
    return sum_of(low, high, count, kOffset);
  }
}

template <class T, bool kLeast>
T extreme(void const* values, std::size_t count) {
  auto found = value_at<T>(values, 0);
  for (std::size_t i = 0; i < count; ++i) {
    auto const value = value_at<T>(values, i);
    found = (kLeast ? value < found : found < value) ? value : found;
  }
  return found;
}

template <class Float>
bool sum_integers(void const* floats, std::size_t count, RunSum* total) {
  std::int64_t others = 0;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for (std::size_t i = 0; i < count; ++i) {
    auto const value = value_at<Float>(floats, i);
    auto const integer = integer_of(value);
    others += static_cast<Float>(integer) != value ? 1 : 0;
    auto const word = static_cast<std::uint64_t>(integer) ^ kSignBit;
    low += word & 0xFFFF'FFFF;
    high += word >> 32;
  }
  *total = sum_of(low, high, count, kSignBit);
  return others == 0;
}

RunSum sum_rounded_int64(void const* integers, std::size_t count) {
  std::int64_t gained = 0;  // at most 512 each
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for (std::size_t i = 0; i < count; ++i) {
    auto const value = value_at<std::int64_t>(integers, i);
    gained += rounding_of(value);
    auto const word = static_cast<std::uint64_t>(value) ^ kSignBit;
    low += word & 0xFFFF'FFFF;
    high += word >> 32;
  }
  auto const written = sum_of(low, high, count, kSignBit);
  auto const sum = (UInt128{written.high} << 64 | written.low) + static_cast<UInt128>(Int128{gained});
  return {static_cast<std::uint64_t>(sum), static_cast<std::uint64_t>(sum >> 64)};
}

template <class T>
constexpr IntegerRuns<T> kIntegerRuns{sum<T>, extreme<T, true>, extreme<T, false>};

constexpr RunKernels kRunKernels{
    kIntegerRuns<std::int32_t>, kIntegerRuns<std::uint32_t>, kIntegerRuns<std::int64_t>, kIntegerRuns<std::uint64_t>,
    sum_integers<float>,        sum_integers<double>,        sum_rounded_int64};

}  // namespace

GARUDA_KERNELS(FloatKernels, float_kernels, kFloatKernels)

GARUDA_KERNELS(SumKernels, sum_kernels, kSumKernels)

GARUDA_KERNELS(RunKernels, run_kernels, kRunKernels)

}  // namespace garuda::cpu
