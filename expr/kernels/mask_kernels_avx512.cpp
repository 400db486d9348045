#include "expr/kernels/mask_kernels_impl.hpp"

namespace garuda::expr {

MaskKernels const& mask_kernels_avx512() noexcept { return kKernels; }

}  // namespace garuda::expr
