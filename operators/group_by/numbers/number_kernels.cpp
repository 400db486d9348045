#include "operators/group_by/numbers/number_kernels.hpp"

#include "operators/group_by/numbers/number_kernels_impl.hpp"

namespace garuda::group_by {

NumberKernels const& number_kernels_baseline() noexcept { return kNumberKernels; }

NumberKernels const& number_kernels(InstructionSet set) noexcept {
  return of_set<NumberKernels>(set, {
                                        number_kernels_baseline,
#ifdef GARUDA_X86_KERNELS
                                        number_kernels_avx2,
                                        number_kernels_avx512,
#endif
                                    });
}

}  // namespace garuda::group_by
