#include "operators/cpu/condition_join/mask_kernels.hpp"

#include "operators/cpu/condition_join/mask_kernels_impl.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::cpu {

MaskKernels const& mask_kernels_baseline() noexcept { return kKernels; }

MaskKernels const& mask_kernels() noexcept {
#ifdef GARUDA_X86_KERNELS
  switch (partition::best_instruction_set()) {
    case partition::InstructionSet::avx512:
      return mask_kernels_avx512();
    case partition::InstructionSet::avx2:
      return mask_kernels_avx2();
    default:
      break;
  }
#endif
  return mask_kernels_baseline();
}

}  // namespace garuda::cpu
