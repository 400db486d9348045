#include "keys/codes/byte_kernels.hpp"

namespace garuda::keys {

ByteKernels const& byte_kernels_baseline() noexcept {
  static constexpr ByteKernels kNone;
  return kNone;
}

ByteKernels const& byte_kernels(InstructionSet set) noexcept {
  return of_set<ByteKernels>(set, {
                                      byte_kernels_baseline,
#ifdef GARUDA_X86_KERNELS
                                      byte_kernels_avx2,
                                      byte_kernels_avx512,
#endif
                                  });
}

}  // namespace garuda::keys
