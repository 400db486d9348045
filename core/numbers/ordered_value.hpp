// Maps between values and unsigned words of the same order, in which minima and maxima are kept and floats are keys.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace garuda {

inline constexpr std::uint16_t kCanonicalNan16 = 0x7E00;
inline constexpr std::uint32_t kCanonicalNan32 = 0x7FC0'0000;
inline constexpr std::uint64_t kCanonicalNan64 = 0x7FF8'0000'0000'0000;

/// The float's bits with -0.0 as +0.0 and every NaN as the canonical one.
constexpr std::uint32_t canonical_bits(float value) noexcept {
  if (value != value) return kCanonicalNan32;
  return value == 0 ? 0 : std::bit_cast<std::uint32_t>(value);
}
constexpr std::uint64_t canonical_bits(double value) noexcept {
  if (value != value) return kCanonicalNan64;
  return value == 0 ? 0 : std::bit_cast<std::uint64_t>(value);
}

/// canonical_bits() for a float of 16 bits, given as its bits.
constexpr std::uint16_t canonical_half(std::uint16_t bits) noexcept {
  auto const magnitude = static_cast<std::uint16_t>(bits & 0x7FFF);
  if (magnitude > 0x7C00) return kCanonicalNan16;
  return magnitude == 0 ? std::uint16_t{0} : bits;
}

/// Unsigned words of the order of canonical float bits; NaN is largest.
constexpr std::uint16_t ordered_from_bits(std::uint16_t bits) noexcept {
  return static_cast<std::uint16_t>((bits >> 15) != 0 ? ~bits : bits | 0x8000);
}
constexpr std::uint32_t ordered_from_bits(std::uint32_t bits) noexcept {
  return (bits >> 31) != 0 ? ~bits : bits | 0x8000'0000U;
}
constexpr std::uint64_t ordered_from_bits(std::uint64_t bits) noexcept {
  return (bits >> 63) != 0 ? ~bits : bits | (std::uint64_t{1} << 63);
}
constexpr std::uint32_t bits_from_ordered(std::uint32_t ordered) noexcept {
  return (ordered >> 31) != 0 ? ordered & 0x7FFF'FFFFU : ~ordered;
}
constexpr std::uint64_t bits_from_ordered(std::uint64_t ordered) noexcept {
  return (ordered >> 63) != 0 ? ordered & ~(std::uint64_t{1} << 63) : ~ordered;
}

/// Signed integers in two's complement: the sign bit flipped. Its own inverse.
constexpr std::uint32_t ordered_signed(std::uint32_t bits) noexcept { return bits ^ 0x8000'0000U; }
constexpr std::uint64_t ordered_signed(std::uint64_t bits) noexcept { return bits ^ (std::uint64_t{1} << 63); }

}  // namespace garuda
