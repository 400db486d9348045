// How lines leave for memory past the caches, with the instructions that the including file is compiled for.
#pragma once

#include <cstddef>

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace garuda::partition {
namespace {

// stream_line writes one aligned cache line, stream_split the first and the second elements of the pairs in two lines.
// They have internal linkage, since each set of instructions has its own.
#if defined(__AVX512F__)
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
#elif defined(__AVX2__)
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
#elif defined(__SSE2__)
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
#else
inline void stream_line(std::byte* to, std::byte const* from) { __builtin_memcpy(to, from, 64); }
template <std::size_t kWidth>
void stream_split(std::byte const* from, std::byte* a, std::byte* b) {
  for (std::size_t byte = 0; byte < 64; byte += kWidth, from += 2 * kWidth) {
    __builtin_memcpy(a + byte, from, kWidth);
    __builtin_memcpy(b + byte, from + kWidth, kWidth);
  }
}
#endif

/// Orders the streamed lines before what tells another thread of them.
inline void finish_streams() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

}  // namespace
}  // namespace garuda::partition
