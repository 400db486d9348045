#include "operators/cpu/condition_join/mask_kernels_impl.hpp"

namespace garuda::cpu {

MaskKernels const& mask_kernels_avx2() noexcept { return kKernels; }

}  // namespace garuda::cpu
