// Loops over columns: how far integers reach, products of two columns in shared words, and parts of floats' powers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/instruction_set.hpp"

namespace garuda::group_by {

/// A sum of products of two columns, x and y, each moved to a place of its own in a word.
struct ProductTerms {
  enum Term : std::uint32_t { kX, kY, kXX, kYY, kXY, kTerms };

  std::uint32_t present = 0;       ///< bit t: term t takes part
  std::uint32_t shifts[kTerms]{};  ///< each below 64
};

/// Kernels of one instruction set; they differ in speed only. Values of `extremes` need not be aligned.
struct NumberKernels {
  /// Lowers `least` and raises `greatest` to hold all of these signed integers.
  void (*extremes_32)(void const* values, std::size_t count, std::int32_t* least, std::int32_t* greatest);
  void (*extremes_64)(void const* values, std::size_t count, std::int64_t* least, std::int64_t* greatest);
  /// Word i, of 64 bits: the sum of each term's product of x[i] and y[i] times 2^shift, modulo 2^64. Words need not be
  /// aligned; a column that no term has may be nullptr.
  void (*write_products)(std::uint32_t const* x, std::uint32_t const* y, std::size_t count, ProductTerms const& terms,
                         void* words);
  /// Writes the bits [first, first + bits) of floats, or of their squares, counted from bit 0 of 2^0, with their signs,
  /// as integers of 128 bits; 0 of what is infinite or no number. Neither end needs to be aligned. Requires: 0 < bits <
  /// 127.
  using FloatParts = void (*)(void const* floats, std::size_t count, bool squared, std::int32_t first,
                              std::uint32_t bits, void* parts);
  FloatParts float_parts_32;
  FloatParts float_parts_64;
};

/// Kernels of a set of instructions that this machine has.
NumberKernels const& number_kernels(InstructionSet set = best_instruction_set()) noexcept;

}  // namespace garuda::group_by
