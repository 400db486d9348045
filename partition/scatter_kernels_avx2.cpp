// The kernels for AVX2 and BMI2; compiled with their flags, called only where the machine has them.
#include <immintrin.h>

#include <cstddef>

namespace garuda::partition {
namespace {

inline void stream_line(std::byte* to, std::byte const* from) {
  auto* const lines = reinterpret_cast<__m256i*>(to);
  auto const* const values = reinterpret_cast<__m256i const*>(from);
  for (int i = 0; i < 2; ++i) _mm256_stream_si256(lines + i, _mm256_load_si256(values + i));
}
template <std::size_t kWidth>
void stream_split(std::byte const* from, std::byte* a, std::byte* b) {
  for (int i = 0; i < 2; ++i, from += 64, a += 32, b += 32) {
    auto const low = _mm256_load_pd(reinterpret_cast<double const*>(from));
    auto const high = _mm256_load_pd(reinterpret_cast<double const*>(from + 32));
    __m256d first;
    __m256d second;
    if constexpr (kWidth == 4) {
      auto const x = _mm256_castpd_ps(low);
      auto const y = _mm256_castpd_ps(high);
      first = _mm256_castps_pd(_mm256_shuffle_ps(x, y, 0x88));
      second = _mm256_castps_pd(_mm256_shuffle_ps(x, y, 0xDD));
    } else {
      first = _mm256_unpacklo_pd(low, high);
      second = _mm256_unpackhi_pd(low, high);
    }
    // Both work on halves of a register: their quarters are out of order.
    _mm256_stream_pd(reinterpret_cast<double*>(a), _mm256_permute4x64_pd(first, 0xD8));
    _mm256_stream_pd(reinterpret_cast<double*>(b), _mm256_permute4x64_pd(second, 0xD8));
  }
}
/// Orders the streamed lines before what tells another thread of them.
inline void finish_streams() { _mm_sfence(); }

}  // namespace
}  // namespace garuda::partition

#include "partition/scatter_kernels_impl.hpp"

namespace garuda::partition {

ScatterKernels const& scatter_kernels_avx2() noexcept { return kScatterKernels; }

}  // namespace garuda::partition
