// Loops over floats, which the compiler vectorises for each set of instructions (GARUDA_KERNELS).
#include <cstring>

#include "operators/cpu/group_by/float_kernels.hpp"

namespace garuda::cpu {
namespace {

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

constexpr FloatKernels kFloatKernels{magnitudes<std::int32_t>, magnitudes<std::int64_t>, split_floats<float>,
                                     split_floats<double>};

}  // namespace

GARUDA_KERNELS(FloatKernels, float_kernels, kFloatKernels)

}  // namespace garuda::cpu
