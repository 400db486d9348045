#include "operators/cpu/group_by/sums/sum_kernels.hpp"

#include "operators/cpu/group_by/sums/sum_kernels_impl.hpp"
#include "partition/instruction_set.hpp"

namespace garuda::cpu {

SumKernels const& sum_kernels_baseline() noexcept { return kSumKernels; }

SumKernels const& sum_kernels() noexcept {
  return partition::best_of<SumKernels>({
      sum_kernels_baseline,
#ifdef GARUDA_X86_KERNELS
      sum_kernels_avx2,
      sum_kernels_avx512,
#endif
  });
}

}  // namespace garuda::cpu
