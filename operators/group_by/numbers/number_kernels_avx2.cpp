#include "operators/group_by/numbers/number_kernels_impl.hpp"

namespace garuda::group_by {

NumberKernels const& number_kernels_avx2() noexcept { return kNumberKernels; }

}  // namespace garuda::group_by
