// The kernels for AVX-512 (F, BW, DQ, VL) and BMI2; compiled with their flags, called only where the machine has them.
#include <immintrin.h>

#include <cstddef>

namespace garuda::partition {
namespace {

inline void stream_line(std::byte* to, std::byte const* from) {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_load_si512(from));
}
template <std::size_t kWidth>
void stream_split(std::byte const* from, std::byte* a, std::byte* b) {
  auto const low = _mm512_load_si512(from);
  auto const high = _mm512_load_si512(from + 64);
  if constexpr (kWidth == 4) {
    auto const even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    auto const odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(a), _mm512_permutex2var_epi32(low, even, high));
    _mm512_stream_si512(reinterpret_cast<__m512i*>(b), _mm512_permutex2var_epi32(low, odd, high));
  } else {
    auto const even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    auto const odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(a), _mm512_permutex2var_epi64(low, even, high));
    _mm512_stream_si512(reinterpret_cast<__m512i*>(b), _mm512_permutex2var_epi64(low, odd, high));
  }
}
/// Orders the streamed lines before what tells another thread of them.
inline void finish_streams() { _mm_sfence(); }

}  // namespace
}  // namespace garuda::partition

#include "partition/scatter_kernels_impl.hpp"

namespace garuda::partition {

ScatterKernels const& scatter_kernels_avx512() noexcept { return kScatterKernels; }

}  // namespace garuda::partition
