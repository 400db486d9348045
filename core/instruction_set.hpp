// Instruction sets that the host's kernels come in.
#pragma once

#include <cstddef>
#include <cstdint>
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

}  // namespace garuda

// GARUDA_KERNELS ends a file of kernels, in the namespace of their header. garuda_add_kernels
// (cmake/GarudaTargets.cmake) compiles such a file once a set of instructions; each time its `table` of type Kernels
// holds that set's functions. Compiled without further flags, the file defines `function`, which gives the table of a
// set; compiled for another set, which GARUDA_KERNEL_SET names, it defines what gives that set's table. All other
// functions of the file stand in an unnamed namespace, and none calls an inline function that other files share: the
// linker might keep one set's for all.
#define GARUDA_KERNELS_OF(Kernels, function, set, table) \
  Kernels const& function##_##set() noexcept { return table; }
#define GARUDA_KERNELS_OF_SET(Kernels, function, set, table) GARUDA_KERNELS_OF(Kernels, function, set, table)
#if defined(GARUDA_KERNEL_SET)
#define GARUDA_KERNELS(Kernels, function, table) GARUDA_KERNELS_OF_SET(Kernels, function, GARUDA_KERNEL_SET, table)
#elif defined(GARUDA_X86_KERNELS)
#define GARUDA_KERNELS(Kernels, function, table)                                  \
  Kernels const& function##_avx2() noexcept;                                      \
  Kernels const& function##_avx512() noexcept;                                    \
  Kernels const& function(InstructionSet set) noexcept {                          \
    if (set == InstructionSet::baseline) return table;                            \
    return set == InstructionSet::avx2 ? function##_avx2() : function##_avx512(); \
  }
#else
#define GARUDA_KERNELS(Kernels, function, table) \
  Kernels const& function(InstructionSet) noexcept { return table; }
#endif
