// Words that the rows of a table add to their groups, row by row, for each set of instructions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/instruction_set.hpp"

namespace garuda::cpu {

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

}  // namespace garuda::cpu
