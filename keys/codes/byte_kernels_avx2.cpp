#include "keys/codes/byte_kernels_impl.hpp"

namespace garuda::keys {

ByteKernels const& byte_kernels_avx2() noexcept { return kByteKernels; }

}  // namespace garuda::keys
