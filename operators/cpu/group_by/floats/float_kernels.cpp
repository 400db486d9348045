#include "operators/cpu/group_by/floats/float_kernels.hpp"

#include "operators/cpu/group_by/floats/float_kernels_impl.hpp"

namespace garuda::cpu {

FloatKernels const& float_kernels_baseline() noexcept { return kFloatKernels; }

FloatKernels const& float_kernels(InstructionSet set) noexcept {
  return of_set<FloatKernels>(set, {
                                       float_kernels_baseline,
#ifdef GARUDA_X86_KERNELS
                                       float_kernels_avx2,
                                       float_kernels_avx512,
#endif
                                   });
}

}  // namespace garuda::cpu
