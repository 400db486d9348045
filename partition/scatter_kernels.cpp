// The kernels of the instruction set that every machine of the target has, and the choice among the sets.
#include <cstddef>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace garuda::partition {
namespace {

#ifdef __SSE2__
inline void stream_line(std::byte* to, std::byte const* from) {
  auto* const lines = reinterpret_cast<__m128i*>(to);
  auto const* const values = reinterpret_cast<__m128i const*>(from);
  for (int i = 0; i < 4; ++i) _mm_stream_si128(lines + i, _mm_load_si128(values + i));
}
template <std::size_t kWidth>
void stream_split(std::byte const* from, std::byte* a, std::byte* b) {
  for (int i = 0; i < 4; ++i, from += 32, a += 16, b += 16) {
    auto const low = _mm_load_si128(reinterpret_cast<__m128i const*>(from));
    auto const high = _mm_load_si128(reinterpret_cast<__m128i const*>(from + 16));
    if constexpr (kWidth == 4) {
      auto const x = _mm_castsi128_ps(low);
      auto const y = _mm_castsi128_ps(high);
      _mm_stream_si128(reinterpret_cast<__m128i*>(a), _mm_castps_si128(_mm_shuffle_ps(x, y, 0x88)));
      _mm_stream_si128(reinterpret_cast<__m128i*>(b), _mm_castps_si128(_mm_shuffle_ps(x, y, 0xDD)));
    } else {
      _mm_stream_si128(reinterpret_cast<__m128i*>(a), _mm_unpacklo_epi64(low, high));
      _mm_stream_si128(reinterpret_cast<__m128i*>(b), _mm_unpackhi_epi64(low, high));
    }
  }
}
/// Orders the streamed lines before what tells another thread of them.
inline void finish_streams() { _mm_sfence(); }
#else
inline void stream_line(std::byte* to, std::byte const* from) { __builtin_memcpy(to, from, 64); }
template <std::size_t kWidth>
void stream_split(std::byte const* from, std::byte* a, std::byte* b) {
  for (std::size_t byte = 0; byte < 64; byte += kWidth, from += 2 * kWidth) {
    __builtin_memcpy(a + byte, from, kWidth);
    __builtin_memcpy(b + byte, from + kWidth, kWidth);
  }
}
inline void finish_streams() {}
#endif

}  // namespace
}  // namespace garuda::partition

#include "partition/scatter_kernels_impl.hpp"

namespace garuda::partition {

ScatterKernels const& scatter_kernels_baseline() noexcept { return kScatterKernels; }

ScatterKernels const& scatter_kernels(InstructionSet set) noexcept {
#ifdef GARUDA_X86_KERNELS
  if (set == InstructionSet::avx512) return scatter_kernels_avx512();
  if (set == InstructionSet::avx2) return scatter_kernels_avx2();
#else
  static_cast<void>(set);
#endif
  return scatter_kernels_baseline();
}

}  // namespace garuda::partition
