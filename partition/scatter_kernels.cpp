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
/// Orders the streamed lines before what tells another thread of them.
inline void finish_streams() { _mm_sfence(); }
#else
inline void stream_line(std::byte* to, std::byte const* from) { __builtin_memcpy(to, from, 64); }
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
