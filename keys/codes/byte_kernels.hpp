// Codes of values behind offsets, for sets of instructions that multiply bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/instruction_set.hpp"
#include "keys/codes/byte_sums.hpp"

namespace garuda::keys {

/// Values one behind the other.
struct BytesBehindOffsets {
  void const* offsets = nullptr;  ///< of the first value; count + 1 of them
  std::uint8_t const* values = nullptr;
  std::uint8_t const* end = nullptr;  ///< no byte from here on is read
  std::size_t count = 0;
};

/// Writes the code of each value.
using WriteByteCodes = void (*)(BytesBehindOffsets const& values, ByteSums const& sums, std::uint64_t* codes);

/// Kernels of one instruction set: nullptr where it does not multiply bytes.
struct ByteKernels {
  WriteByteCodes of_offsets_32 = nullptr;
  WriteByteCodes of_offsets_64 = nullptr;
};

/// Those of a set of instructions that this machine has.
ByteKernels const& byte_kernels(InstructionSet set = best_instruction_set()) noexcept;

ByteKernels const& byte_kernels_baseline() noexcept;
#ifdef GARUDA_X86_KERNELS
ByteKernels const& byte_kernels_avx2() noexcept;
ByteKernels const& byte_kernels_avx512() noexcept;
#endif

}  // namespace garuda::keys
