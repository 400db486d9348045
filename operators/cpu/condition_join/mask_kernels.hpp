// The inner loops of joins without keys: words of a block compared with one word, or with one range.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/instruction_set.hpp"
#include "operators/contract/condition.hpp"

namespace garuda::cpu {

/// Words of a block at most: its mask and two columns of it stay in a first-level cache.
inline constexpr std::size_t kMaskBlock = 1'024;

/// Kernels of one instruction set; they differ in speed only. `count` words, at most kMaskBlock; a mask is a byte a
/// word, 0 or 1. A word w is in a range when w - low <= span, modulo 2^bits.
struct MaskKernels {
  std::uint32_t (*count_32)(std::uint32_t const* words, std::size_t count, std::uint32_t low, std::uint32_t span);
  std::uint32_t (*count_64)(std::uint64_t const* words, std::size_t count, std::uint64_t low, std::uint64_t span);
  void (*range_32)(std::uint32_t const* words, std::size_t count, std::uint32_t low, std::uint32_t span,
                   std::uint8_t* mask);
  void (*range_64)(std::uint64_t const* words, std::size_t count, std::uint64_t low, std::uint64_t span,
                   std::uint8_t* mask);
  void (*and_range_32)(std::uint32_t const* words, std::size_t count, std::uint32_t low, std::uint32_t span,
                       std::uint8_t* mask);
  void (*and_range_64)(std::uint64_t const* words, std::size_t count, std::uint64_t low, std::uint64_t span,
                       std::uint8_t* mask);
  /// words[i] `comparator` word, and a[i] `comparator` b[i].
  void (*compare_32)(contract::Comparator comparator, std::uint32_t const* words, std::size_t count, std::uint32_t word,
                     std::uint8_t* mask);
  void (*compare_64)(contract::Comparator comparator, std::uint64_t const* words, std::size_t count, std::uint64_t word,
                     std::uint8_t* mask);
  void (*compare_columns_32)(contract::Comparator comparator, std::uint32_t const* a, std::uint32_t const* b,
                             std::size_t count, std::uint8_t* mask);
  void (*compare_columns_64)(contract::Comparator comparator, std::uint64_t const* a, std::uint64_t const* b,
                             std::size_t count, std::uint8_t* mask);
  void (*and_masks)(std::uint8_t const* other, std::size_t count, std::uint8_t* mask);
  void (*or_masks)(std::uint8_t const* other, std::size_t count, std::uint8_t* mask);
  std::uint32_t (*count_mask)(std::uint8_t const* mask, std::size_t count);
};

/// Those of a set of instructions that this machine has.
MaskKernels const& mask_kernels(InstructionSet set = best_instruction_set()) noexcept;

MaskKernels const& mask_kernels_baseline() noexcept;
#ifdef GARUDA_X86_KERNELS
MaskKernels const& mask_kernels_avx2() noexcept;
MaskKernels const& mask_kernels_avx512() noexcept;
#endif

}  // namespace garuda::cpu
