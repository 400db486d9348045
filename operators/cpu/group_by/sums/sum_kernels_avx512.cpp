#include "operators/cpu/group_by/sums/sum_kernels_impl.hpp"

namespace garuda::cpu {

SumKernels const& sum_kernels_avx512() noexcept { return kSumKernels; }

}  // namespace garuda::cpu
