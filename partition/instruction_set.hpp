// Instruction sets that the host's kernels come in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace garuda::partition {

/// `baseline` is what the compiler targets without further flags: SSE2 on x86-64, portable code elsewhere.
enum class InstructionSet : std::uint8_t { baseline, avx2, avx512 };

std::string_view to_string(InstructionSet set) noexcept;

/// The sets that this build has kernels for and this machine executes, the fastest last; `baseline` is always there.
std::span<InstructionSet const> instruction_sets() noexcept;

/// The last of them.
InstructionSet best_instruction_set() noexcept;

/// What is compiled for each set, in the order of InstructionSet and of the first alone where there are no others: that
/// of the best set of this machine. The sets' results are the same.
template <class Kernels>
Kernels const& best_of(std::initializer_list<Kernels const& (*)() noexcept> by_set) noexcept {
  auto const best = static_cast<std::size_t>(best_instruction_set());
  return by_set.begin()[best < by_set.size() ? best : 0]();
}

}  // namespace garuda::partition
