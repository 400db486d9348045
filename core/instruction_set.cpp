#include "core/instruction_set.hpp"

#include <array>
#include <cstddef>

namespace garuda {
namespace {

struct Supported {
  std::array<InstructionSet, 3> sets{InstructionSet::baseline};
  std::size_t count = 1;
};

Supported detect() noexcept {
  Supported found;
#ifdef GARUDA_X86_KERNELS
  __builtin_cpu_init();
  if (__builtin_cpu_supports("bmi2") == 0) return found;
  if (__builtin_cpu_supports("avx2") != 0) found.sets[found.count++] = InstructionSet::avx2;
  // The set of Skylake servers: every AVX-512 kernel is compiled for all of it.
  if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
      __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0)
    found.sets[found.count++] = InstructionSet::avx512;
#endif
  return found;
}

Supported const& supported() noexcept {
  static Supported const found = detect();
  return found;
}

}  // namespace

std::string_view to_string(InstructionSet set) noexcept {
  switch (set) {
    case InstructionSet::avx2:
      return "avx2";
    case InstructionSet::avx512:
      return "avx512";
    default:
      return "baseline";
  }
}

std::span<InstructionSet const> instruction_sets() noexcept {
  return std::span(supported().sets).first(supported().count);
}

InstructionSet best_instruction_set() noexcept { return instruction_sets().back(); }

}  // namespace garuda
