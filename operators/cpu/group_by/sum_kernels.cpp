// Sums in vectors of four words, and loops over floats, which the compiler makes of the instructions of each set
// (GARUDA_KERNELS).
#include "operators/cpu/group_by/sum_kernels.hpp"

#include <cstring>

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
Value float_at(void const* values, std::size_t i) noexcept {
  Value value;
  std::memcpy(&value, static_cast<char const*>(values) + i * sizeof(Value), sizeof(Value));
  return value;
}

/// Bits: signed, of the floats' width.
template <class Bits>
void magnitudes(void const* floats, std::size_t count, Magnitudes* seen) {
  constexpr auto kMagnitude = static_cast<Bits>(~std::uint64_t{0} >> (65 - 8 * sizeof(Bits)));  // all but the sign
  Bits least = kMagnitude;
  Bits largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    auto const magnitude = static_cast<Bits>(float_at<Bits>(floats, i) & kMagnitude);
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
    auto const value = static_cast<double>(float_at<Float>(floats, i));
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

template <class Float>
bool to_integers(void const* floats, std::size_t count, std::int64_t* integers) {
  constexpr auto kLeast = static_cast<Float>(-0x1p63);
  constexpr auto kMost =
      sizeof(Float) == 4 ? static_cast<Float>(0x1.fffffep62) : static_cast<Float>(0x1.fffffffffffffp62);
  std::int64_t others = 0;
  for (std::size_t i = 0; i < count; ++i) {
    auto const value = float_at<Float>(floats, i);
    // A value out of range, or NaN, becomes a number that it is not equal to.
    auto const above = value > kLeast ? value : kLeast;
    auto const integer = static_cast<std::int64_t>(above < kMost ? above : kMost);
    integers[i] = integer;
    others += static_cast<Float>(integer) != value ? 1 : 0;
  }
  return others == 0;
}

constexpr FloatKernels kFloatKernels{magnitudes<std::int32_t>, magnitudes<std::int64_t>, split_floats<float>,
                                     split_floats<double>,     to_integers<float>,       to_integers<double>};

}  // namespace

GARUDA_KERNELS(FloatKernels, float_kernels, kFloatKernels)

GARUDA_KERNELS(SumKernels, sum_kernels, kSumKernels)

}  // namespace garuda::cpu
