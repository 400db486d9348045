#include "operators/cpu/group_by/sums/sum_kernels.hpp"

#include "operators/cpu/group_by/sums/sum_kernels_impl.hpp"

namespace garuda::cpu {

SumKernels const& sum_kernels_baseline() noexcept { return kSumKernels; }

SumKernels const& sum_kernels(InstructionSet set) noexcept {
  return of_set<SumKernels>(set, {
                                     sum_kernels_baseline,
#ifdef GARUDA_X86_KERNELS
                                     sum_kernels_avx2,
                                     sum_kernels_avx512,
#endif
                                 });
}

}  // namespace garuda::cpu
