#include "operators/cpu/join/rank_kernels_impl.hpp"

namespace garuda::cpu {

RankKernels const& rank_kernels_avx2() noexcept { return kRankKernels; }

}  // namespace garuda::cpu
