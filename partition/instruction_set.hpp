// Instruction sets that the host's kernels come in.
#pragma once

#include <cstdint>
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

}  // namespace garuda::partition
