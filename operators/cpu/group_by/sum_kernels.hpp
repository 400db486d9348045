// Words that the rows of a table add to their groups, row by row, floats made such words, and sums and extremes of
// values that lie side by side and belong to one group, for each set of instructions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/instruction_set.hpp"

namespace garuda::cpu {

/// Bounds of the bits of floats without their signs: the least that is not 0, less one, and the greatest.
struct Magnitudes {
  std::uint64_t least_less_one = ~std::uint64_t{0} >> 1;
  std::uint64_t largest = 0;
};

/// How floats whose bits lie close together become integers over a lowest bit, by the processor's floats: an upper and
/// a lower part, of at most 51 bits each. A carrier is 1.5 * 2^52 of a part's units, so that adding it leaves the part
/// in the sum's mantissa.
struct FloatSplit {
  double upper_carrier = 0;
  double lower_carrier = 0;    ///< of the lowest bit
  std::uint32_t low_bits = 0;  ///< of the lower part; at least 13
};

/// Kernels of one instruction set; they differ in speed only. Values need not be aligned.
struct FloatKernels {
  void (*magnitudes_32)(void const* floats, std::size_t count, Magnitudes* seen);
  void (*magnitudes_64)(void const* floats, std::size_t count, Magnitudes* seen);
  /// The two's complement words of each float's integer. Requires: it is what `split` is for, or zero; others give
  /// other words.
  void (*split_32)(void const* floats, std::size_t count, FloatSplit split, std::uint64_t* low, std::uint64_t* high);
  void (*split_64)(void const* floats, std::size_t count, FloatSplit split, std::uint64_t* low, std::uint64_t* high);
  /// Each float as an integer. False: not all of them are integers between -2^63 and 2^63, and the others give any.
  bool (*integers_32)(void const* floats, std::size_t count, std::int64_t* integers);
  bool (*integers_64)(void const* floats, std::size_t count, std::int64_t* integers);
  /// The two's complement words of the float64 that is next to each integer of 64 bits.
  void (*round_int64)(void const* integers, std::size_t count, std::uint64_t* low, std::uint64_t* high);
};

/// Kernels of a set of instructions that this machine has.
FloatKernels const& float_kernels(InstructionSet set = best_instruction_set()) noexcept;

/// Words of a group's row of sums.
inline constexpr std::size_t kSumRowWords = 4;

/// Adds the i-th word of each of the `columns`, or 1 where one is nullptr, to the row of sums of groups[i], modulo
/// 2^64, for i in [0, count). Columns need not be aligned. Sets of instructions differ in speed only.
using AddSumRows = void (*)(void const* const* columns, std::uint32_t const* groups, std::size_t count,
                            std::uint64_t* sums);

struct SumKernels {
  AddSumRows add_3;  ///< of three columns; the fourth word stays as it is
  AddSumRows add_4;
};

/// Kernels of a set of instructions that this machine has.
SumKernels const& sum_kernels(InstructionSet set = best_instruction_set()) noexcept;

/// Most values of one call, such that no sum leaves its words.
inline constexpr std::size_t kMostRunValues = std::size_t{1} << 31;

/// A sum of 128 bits in two's complement.
struct RunSum {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

/// Kernels of integers of type T.
template <class T>
struct IntegerRuns {
  RunSum (*sum)(void const* values, std::size_t count);
  /// The least and the greatest value. Requires: there is one.
  T (*least)(void const* values, std::size_t count);
  T (*greatest)(void const* values, std::size_t count);
};

/// Kernels of one instruction set; they differ in speed only. At most kMostRunValues values, which need not be aligned.
struct RunKernels {
  IntegerRuns<std::int32_t> int32;
  IntegerRuns<std::uint32_t> uint32;
  IntegerRuns<std::int64_t> int64;
  IntegerRuns<std::uint64_t> uint64;
  /// The sum of floats that are integers between -2^63 and 2^63. False: not all of them are, and the sum is any.
  bool (*sum_integers_32)(void const* floats, std::size_t count, RunSum* sum);
  bool (*sum_integers_64)(void const* floats, std::size_t count, RunSum* sum);
  /// The sum of the float64s that are next to integers of 64 bits.
  RunSum (*sum_rounded_int64)(void const* integers, std::size_t count);
};

/// Kernels of a set of instructions that this machine has.
RunKernels const& run_kernels(InstructionSet set = best_instruction_set()) noexcept;

}  // namespace garuda::cpu
