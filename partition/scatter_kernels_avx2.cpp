// The kernels for AVX2; compiled with its flags, called only where the machine has it.
#include <immintrin.h>

#include <cstddef>

namespace garuda::partition {
namespace {

inline void stream_line(std::byte* to, std::byte const* from) {
  auto* const lines = reinterpret_cast<__m256i*>(to);
  auto const* const values = reinterpret_cast<__m256i const*>(from);
  for (int i = 0; i < 2; ++i) _mm256_stream_si256(lines + i, _mm256_load_si256(values + i));
}
/// Orders the streamed lines before what tells another thread of them.
inline void finish_streams() { _mm_sfence(); }

}  // namespace
}  // namespace garuda::partition

#include "partition/scatter_kernels_impl.hpp"

namespace garuda::partition {

ScatterKernels const& scatter_kernels_avx2() noexcept { return kScatterKernels; }

}  // namespace garuda::partition
