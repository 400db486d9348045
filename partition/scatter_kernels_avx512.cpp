// The kernels for AVX-512 (F, BW, DQ, VL); compiled with their flags, called only where the machine has them.
#include <immintrin.h>

#include <cstddef>

namespace garuda::partition {
namespace {

inline void stream_line(std::byte* to, std::byte const* from) {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_load_si512(from));
}
/// Orders the streamed lines before what tells another thread of them.
inline void finish_streams() { _mm_sfence(); }

}  // namespace
}  // namespace garuda::partition

#include "partition/scatter_kernels_impl.hpp"

namespace garuda::partition {

ScatterKernels const& scatter_kernels_avx512() noexcept { return kScatterKernels; }

}  // namespace garuda::partition
