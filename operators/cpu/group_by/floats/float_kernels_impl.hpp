// Included once a set of instructions, in an unnamed namespace of its own: loops that the compiler vectorises for it.
// Nothing here calls an inline function that others share: the linker might keep this set's for all.
#include <cstring>

#include "operators/cpu/group_by/floats/float_kernels.hpp"

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

/// An integer of at most 51 bits and a sign as a float, as that integer and as itself plus 2^51.
struct Part {
  double value;
  std::int64_t integer;
  std::uint64_t biased;
};

constexpr double kCarrier = 0x1.8p52;  // its mantissa's upper bit keeps sums at or above 2^52
constexpr std::int64_t kCarrierBits = 0x4338'0000'0000'0000;
constexpr std::uint64_t kBias = std::uint64_t{1} << 51;

/// The integer next to `value`.
inline Part part_of(double value) noexcept {
  double const carried = value + kCarrier;
  std::int64_t bits = 0;
  std::memcpy(&bits, &carried, sizeof(bits));
  auto const integer = bits - kCarrierBits;
  return {carried - kCarrier, integer, static_cast<std::uint64_t>(integer) + kBias};
}

template <class Float>
void split_floats(void const* floats, std::size_t count, FloatSplit split, std::uint64_t* low, std::uint64_t* high) {
  auto const low_bits = split.low_bits;
  auto const high_shift = 64 - low_bits;
  for (std::size_t i = 0; i < count; ++i) {
    double const scaled = static_cast<double>(float_at<Float>(floats, i)) * split.down;
    auto const upper = part_of(scaled);
    auto const lower = part_of((scaled - upper.value) * split.up);
    auto const shifted = static_cast<std::uint64_t>(upper.integer) << low_bits;
    auto const sum = shifted + static_cast<std::uint64_t>(lower.integer);
    // Shifts of signed words are what few sets have: those of biased ones, and their bias taken off.
    auto const above = (upper.biased >> high_shift) - (kBias >> high_shift);
    auto const sign = (lower.biased >> 51) - 1;
    low[i] = sum;
    high[i] = above + sign + (sum < shifted ? 1 : 0);
  }
}

constexpr FloatKernels kFloatKernels{magnitudes<std::int32_t>, magnitudes<std::int64_t>, split_floats<float>,
                                     split_floats<double>};

}  // namespace
}  // namespace garuda::cpu
