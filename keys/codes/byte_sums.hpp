// The code of a value of at most 16 bytes as sums of products, pairs of bytes, then pairs of these.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace garuda::keys {

inline constexpr std::size_t kSummedBytes = 16;

/// What byte kernels make codes with. Bytes behind a value are zero.
struct ByteSums {
  alignas(16) std::array<std::uint8_t, kSummedBytes> least{};  ///< of a byte that a value has; 255 behind the longest
  alignas(16) std::array<std::uint8_t, kSummedBytes> greatest{};
  alignas(16) std::array<std::int8_t, kSummedBytes> of_bytes{};       ///< weights of two neighbours in their sum
  alignas(16) std::array<std::int16_t, kSummedBytes / 2> of_pairs{};  ///< of two such sums in theirs
  std::array<std::uint64_t, kSummedBytes / 4> of_fours{};             ///< of these in the code, modulo 2^64
  /// What is added for a value's length; lengths beyond the last one have no code.
  std::array<std::uint64_t, kSummedBytes + 1> of_length{};
  std::size_t shortest = 0;
  std::size_t longest = 0;
  std::uint64_t of_others = 0;  ///< the code of all that have none
};

/// The weights of bytes whose places have so many digits each (1: a byte there does not count), the first the most
/// significant. nullopt: they do not fit. Requires: at most kSummedBytes places, radix by radix below 2^64.
std::optional<ByteSums> byte_weights(std::span<std::uint32_t const> radices);

}  // namespace garuda::keys
