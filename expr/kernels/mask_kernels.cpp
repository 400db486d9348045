#include "expr/kernels/mask_kernels.hpp"

#include "expr/kernels/mask_kernels_impl.hpp"

namespace garuda::expr {

MaskKernels const& mask_kernels_baseline() noexcept { return kKernels; }

MaskKernels const& mask_kernels(InstructionSet set) noexcept {
  return of_set<MaskKernels>(set, {
                                      mask_kernels_baseline,
#ifdef GARUDA_X86_KERNELS
                                      mask_kernels_avx2,
                                      mask_kernels_avx512,
#endif
                                  });
}

}  // namespace garuda::expr
