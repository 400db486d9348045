// Instruction sets that the host's kernels come in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace garuda {

/// `baseline` is what the compiler targets without further flags: SSE2 on x86-64, portable code elsewhere.
enum class InstructionSet : std::uint8_t { baseline, avx2, avx512 };

std::string_view to_string(InstructionSet set) noexcept;

/// The sets that this build has kernels for and this machine executes, the fastest last; `baseline` is always there.
std::span<InstructionSet const> instruction_sets() noexcept;

/// The last of them.
InstructionSet best_instruction_set() noexcept;

/// The kernels that are compiled for `set`. `by_set`: in the order of InstructionSet, or the first alone.
template <class Kernels>
Kernels const& of_set(InstructionSet set, std::initializer_list<Kernels const& (*)() noexcept> by_set) noexcept {
  auto const index = static_cast<std::size_t>(set);
  return by_set.begin()[index < by_set.size() ? index : 0]();
}

}  // namespace garuda
