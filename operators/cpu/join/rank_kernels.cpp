#include "operators/cpu/join/rank_kernels.hpp"

#include "operators/cpu/join/rank_kernels_impl.hpp"

namespace garuda::cpu {

RankKernels const& rank_kernels_baseline() noexcept { return kRankKernels; }

RankKernels const& rank_kernels(InstructionSet set) noexcept {
  return of_set<RankKernels>(set, {
                                      rank_kernels_baseline,
#ifdef GARUDA_X86_KERNELS
                                      rank_kernels_avx2,
                                      rank_kernels_avx512,
#endif
                                  });
}

}  // namespace garuda::cpu
