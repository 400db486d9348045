#include "operators/group_by/numbers/number_kernels.hpp"

#include "operators/group_by/numbers/number_kernels_impl.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::group_by {

NumberKernels const& number_kernels_baseline() noexcept { return kNumberKernels; }

NumberKernels const& number_kernels() noexcept {
#ifdef GARUDA_X86_KERNELS
  switch (partition::best_instruction_set()) {
    case partition::InstructionSet::avx512:
      return number_kernels_avx512();
    case partition::InstructionSet::avx2:
      return number_kernels_avx2();
    default:
      break;
  }
#endif
  return number_kernels_baseline();
}

}  // namespace garuda::group_by
