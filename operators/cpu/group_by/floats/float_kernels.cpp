#include "operators/cpu/group_by/floats/float_kernels.hpp"

#include "operators/cpu/group_by/floats/float_kernels_impl.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::cpu {

FloatKernels const& float_kernels_baseline() noexcept { return kFloatKernels; }

FloatKernels const& float_kernels() noexcept {
#ifdef GARUDA_X86_KERNELS
  switch (partition::best_instruction_set()) {
    case partition::InstructionSet::avx512:
      return float_kernels_avx512();
    case partition::InstructionSet::avx2:
      return float_kernels_avx2();
    default:
      break;
  }
#endif
  return float_kernels_baseline();
}

}  // namespace garuda::cpu
