// Look-ups of keys by rank, for each set of instructions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/instruction_set.hpp"

namespace garuda::cpu {

/// Values from 0 to `last`, some of which are keys. A word says of kRankBits values which are, a bit each from the
/// lowest on, and above these bits how many keys are less than all of them.
struct RankedKeys {
  static constexpr std::uint64_t kRankBits = 32;

  std::uint64_t min = 0;    ///< the key that value 0 stands for
  std::uint64_t shift = 0;  ///< a value is (key - min) >> shift
  std::uint64_t last = 0;
  std::uint64_t const* words = nullptr;  ///< of values 0 to last + 1, the last of which is no key
};

/// Kernels of one instruction set; they differ in speed only. Keys need not be aligned.
struct RankKernels {
  /// Writes into `words` how many keys are less, `less` of them before the first one; returns how many there are at the
  /// end.
  std::uint64_t (*add_ranks)(std::uint64_t* words, std::size_t count, std::uint64_t less);
  /// found[i]: rows[rank of keys[i]] where it is a key, else 0; a word a rank, and one more that is read, not used.
  void (*find_rows_32)(RankedKeys const& ranked, std::uint32_t const* rows, void const* keys, std::size_t count,
                       std::uint32_t* found);
  void (*find_rows_64)(RankedKeys const& ranked, std::uint32_t const* rows, void const* keys, std::size_t count,
                       std::uint32_t* found);
  /// found[i]: 1 + the rank of keys[i] where it is a key, else 0.
  void (*find_ranks_32)(RankedKeys const& ranked, void const* keys, std::size_t count, std::uint32_t* found);
  void (*find_ranks_64)(RankedKeys const& ranked, void const* keys, std::size_t count, std::uint32_t* found);
};

/// Kernels of a set of instructions that this machine has.
RankKernels const& rank_kernels(InstructionSet set = best_instruction_set()) noexcept;

}  // namespace garuda::cpu
