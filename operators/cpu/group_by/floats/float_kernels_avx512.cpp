#include "operators/cpu/group_by/floats/float_kernels_impl.hpp"

namespace garuda::cpu {

FloatKernels const& float_kernels_avx512() noexcept { return kFloatKernels; }

}  // namespace garuda::cpu
