// Arithmetic of values of Kind::int128 that 64 bits hold.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/instruction_set.hpp"
#include "core/numbers/wide_integer.hpp"

namespace garuda::expr {

/// Kernels of one instruction set; they differ in speed only. Arithmetic is modulo 2^64.
struct NarrowKernels {
  /// Copies the low words. False: some value needs more than 64 bits.
  bool (*narrow)(Int128 const* values, std::size_t count, std::int64_t* to);
  void (*widen)(std::int64_t const* values, std::size_t count, Int128* to);
  /// The bits by which values differ from their signs, all values together.
  std::uint64_t (*used_bits)(std::int64_t const* values, std::size_t count);
  /// to[i] = values[i] * factor + addend
  void (*linear)(std::int64_t const* values, std::int64_t factor, std::int64_t addend, std::size_t count,
                 std::int64_t* to);
  /// to[i] = a[i] * a_factor + b[i] * b_factor
  void (*add)(std::int64_t const* a, std::int64_t a_factor, std::int64_t const* b, std::int64_t b_factor,
              std::size_t count, std::int64_t* to);
  /// to[i] = a[i] * b[i]
  void (*multiply)(std::int64_t const* a, std::int64_t const* b, std::size_t count, std::int64_t* to);
};

/// Kernels of a set of instructions that this machine has.
NarrowKernels const& narrow_kernels(InstructionSet set = best_instruction_set()) noexcept;

}  // namespace garuda::expr
