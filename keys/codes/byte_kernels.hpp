// The code of a value of at most 16 bytes as sums of products, pairs of bytes, then pairs of these; and the kernels
// that make such codes of values behind offsets and in views, for sets of instructions that multiply bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/instruction_set.hpp"

namespace garuda::keys {

inline constexpr std::size_t kSummedBytes = 16;

/// Numbers with which byte kernels make codes. Bytes behind a value are zero.
struct ByteSums {
  alignas(16) std::array<std::uint8_t, kSummedBytes> least{};  ///< of a byte that a value has; 255 behind the longest
  alignas(16) std::array<std::uint8_t, kSummedBytes> greatest{};
  alignas(16) std::array<std::int8_t, kSummedBytes> of_bytes{};       ///< weights of two neighbours in their sum
  alignas(16) std::array<std::int16_t, kSummedBytes / 2> of_pairs{};  ///< of two such sums in theirs
  std::array<std::uint64_t, kSummedBytes / 4> of_fours{};             ///< of these in the code, modulo 2^64
  /// The number that is added for a value's length; lengths beyond the last one have no code.
  std::array<std::uint64_t, kSummedBytes + 1> of_length{};
  std::size_t shortest = 0;
  std::size_t longest = 0;
  std::uint64_t of_others = 0;  ///< the code of all that have none
};

/// The weights of bytes whose places have so many digits each (1: a byte there does not count), the first the most
/// significant. nullopt: they do not fit. Requires: at most kSummedBytes places, radix by radix below 2^64.
std::optional<ByteSums> byte_weights(std::span<std::uint32_t const> radices);

/// Values one behind the other.
struct BytesBehindOffsets {
  void const* offsets = nullptr;  ///< of the first value; count + 1 of them
  std::uint8_t const* values = nullptr;
  std::uint8_t const* end = nullptr;  ///< no byte from here on is read
  std::size_t count = 0;
};

/// Values by views, those of more than 12 bytes in buffers.
struct BytesInViews {
  void const* views = nullptr;  ///< the first one
  void const* const* buffers = nullptr;
  std::size_t count = 0;
};

/// Writes the code of each value.
using WriteByteCodes = void (*)(BytesBehindOffsets const& values, ByteSums const& sums, std::uint64_t* codes);
using WriteViewCodes = void (*)(BytesInViews const& values, ByteSums const& sums, std::uint64_t* codes);

/// Kernels of one instruction set: nullptr where it does not multiply bytes.
struct ByteKernels {
  WriteByteCodes of_offsets_32 = nullptr;
  WriteByteCodes of_offsets_64 = nullptr;
  WriteViewCodes of_views = nullptr;
};

/// Kernels of a set of instructions that this machine has.
ByteKernels const& byte_kernels(InstructionSet set = best_instruction_set()) noexcept;

}  // namespace garuda::keys
