// Comparisons of the values of a block with each other, with one value, or with a range, and values as floats.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/instruction_set.hpp"
#include "expr/vector.hpp"
#include "garuda/condition.hpp"

namespace garuda::expr {

/// Kernels of one instruction set; they differ in speed only. `count` words, at most kVectorRows; a mask is a byte a
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
  /// mask[i] = a[i] `comparator` b[i], values of the kind, or of all a[i] with one b where `b_is_one`. Floats are
  /// compared as keys are: NaNs are equal and the largest.
  void (*compare)(Kind kind, Comparator comparator, void const* a, void const* b, bool b_is_one, std::size_t count,
                  std::uint8_t* mask);
  /// mask[i] &= other[i], or |=; and the same of two masks into a third.
  void (*and_masks)(std::uint8_t const* other, std::size_t count, std::uint8_t* mask);
  void (*or_masks)(std::uint8_t const* other, std::size_t count, std::uint8_t* mask);
  void (*and_both)(std::uint8_t const* a, std::uint8_t const* b, std::size_t count, std::uint8_t* mask);
  void (*or_both)(std::uint8_t const* a, std::uint8_t const* b, std::size_t count, std::uint8_t* mask);
  std::uint32_t (*count_mask)(std::uint8_t const* mask, std::size_t count);
  /// Rounds values of a machine kind to the nearest float32 or float64.
  void (*to_float32)(Kind kind, void const* values, std::size_t count, float* floats);
  void (*to_float64)(Kind kind, void const* values, std::size_t count, double* floats);
};

/// Kernels of a set of instructions that this machine has.
MaskKernels const& mask_kernels(InstructionSet set = best_instruction_set()) noexcept;

}  // namespace garuda::expr
