#include "cuda_backend/group_results.hpp"

#include "cuda_backend/group_values.cuh"

namespace garuda::cuda {
namespace {

constexpr int kDoubleBits = 53;
constexpr int kLowestExponent = -1074;  // of the least subnormal
constexpr int kLargestBiased = 2047;
constexpr std::uint64_t kCanonicalNan = 0x7ff8'0000'0000'0000ULL;
constexpr std::uint64_t kInfinity = 0x7ff0'0000'0000'0000ULL;
constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
/// Windows of a float64 sum, 33 at most, and two words for the last one's upper half and the sign.
constexpr int kMostWords = 36;

template <class Key>
__global__ void gather_keys_kernel(Key const* keys, std::uint32_t const* heads, std::uint32_t groups, Key* keys_out) {
  for (auto g = global_thread(); g < groups; g += grid_threads()) keys_out[g] = keys[heads == nullptr ? 0 : heads[g]];
}

__global__ void finish_sums_kernel(std::uint64_t const* sums, bool is_signed_kind, std::uint32_t groups,
                                   std::uint64_t* out, std::uint32_t* overflow) {
  for (auto g = global_thread(); g < groups; g += grid_threads()) {
    auto const low = sums[2 * g];
    auto const expected = is_signed_kind && (low & kSign) != 0 ? ~std::uint64_t{0} : 0;
    if (sums[2 * g + 1] != expected) *overflow = 1;
    out[g] = low;
  }
}

/// An unsigned integer of `count` words, low word first.
struct Magnitude {
  std::uint64_t words[kMostWords];
  int count;

  __device__ std::uint64_t word_at(int w) const { return w < 0 || w >= count ? 0 : words[w]; }
  /// Bits [first, first + 64).
  __device__ std::uint64_t bits_from(int first) const {
    auto const word = first >> 6;
    auto const shift = static_cast<unsigned>(first & 63);
    return shift == 0 ? word_at(word) : word_at(word) >> shift | word_at(word + 1) << (64 - shift);
  }
  __device__ bool any_below(int bit) const {
    if (bit <= 0) return false;
    for (int w = 0; w < bit / 64; ++w)
      if (words[w] != 0) return true;
    return bit % 64 != 0 && word_at(bit / 64) << (64 - bit % 64) != 0;
  }
  __device__ int highest_bit() const {
    for (int w = count - 1; w >= 0; --w)
      if (words[w] != 0) return 64 * w + 63 - __clzll(static_cast<long long>(words[w]));
    return -1;
  }
};

/// The bits of the double nearest to magnitude * 2^exponent, of two the even one.
__device__ std::uint64_t round_magnitude(Magnitude const& magnitude, int exponent) {
  auto const highest = magnitude.highest_bit();
  if (highest < 0) return 0;
  // The lowest bit that is kept: 53 of them, or down to the least subnormal.
  auto const for_normal = highest - kDoubleBits + 1;
  auto const lowest = for_normal > kLowestExponent - exponent ? for_normal : kLowestExponent - exponent;
  if (lowest > highest + 1) return 0;
  auto mantissa = magnitude.bits_from(lowest) & ((std::uint64_t{1} << kDoubleBits) - 1);
  bool const half = (magnitude.bits_from(lowest - 1) & 1) != 0;
  if (half && (magnitude.any_below(lowest - 1) || (mantissa & 1) != 0)) ++mantissa;
  auto scale = lowest + exponent;
  if (mantissa >> kDoubleBits != 0) {
    mantissa >>= 1;
    ++scale;
  }
  constexpr auto kImplicit = std::uint64_t{1} << (kDoubleBits - 1);
  if ((mantissa & kImplicit) == 0) return mantissa;  // subnormal, of scale kLowestExponent
  auto const biased = scale - kLowestExponent + 1;
  if (biased >= kLargestBiased) return kInfinity;
  return static_cast<std::uint64_t>(biased) << (kDoubleBits - 1) | (mantissa & (kImplicit - 1));
}

/// Two's complement to sign and magnitude, then rounded.
__device__ std::uint64_t round_signed(Magnitude& total, int exponent) {
  bool const negative = total.words[total.count - 1] >> 63 != 0;
  if (negative) {
    std::uint64_t carry = 1;
    for (int w = 0; w < total.count; ++w) {
      total.words[w] = ~total.words[w] + carry;
      carry = carry != 0 && total.words[w] == 0 ? 1 : 0;
    }
  }
  auto const bits = round_magnitude(total, exponent);
  return negative ? bits | kSign : bits;
}

/// A sum over its count; NaN stays the one NaN there is.
__device__ std::uint64_t mean_of(std::uint64_t sum_bits, std::uint64_t count) {
  if (sum_bits == kCanonicalNan) return sum_bits;
  auto const sum = __longlong_as_double(static_cast<long long>(sum_bits));
  auto const mean = __ddiv_rn(sum, __ull2double_rn(count));
  return static_cast<std::uint64_t>(__double_as_longlong(mean));
}

__global__ void finish_rounded_kernel(SignedSums sums, int exponent, std::uint64_t const* counts, std::uint32_t groups,
                                      std::uint64_t* out) {
  for (auto g = global_thread(); g < groups; g += grid_threads()) {
    Magnitude total;
    total.count = 2;
    auto const* const words = sums.words + g * sums.words_each;
    total.words[0] = words[0];
    total.words[1] = sums.words_each == 2 ? words[1] : words[0] >> 63 != 0 ? ~std::uint64_t{0} : 0;
    auto const sum = round_signed(total, exponent);
    out[g] = counts == nullptr ? sum : mean_of(sum, counts[g]);
  }
}

__device__ std::uint64_t round_windows(FloatWindows const& sums, std::uint64_t group, bool is_wide) {
  auto const flags = sums.flags[group];
  if ((flags & 1) != 0 || (flags & 6) == 6) return kCanonicalNan;
  if ((flags & 6) != 0) return (flags & 2) != 0 ? kInfinity : kInfinity | kSign;
  auto const first = sums.offsets[group];
  auto const count = static_cast<int>(sums.offsets[group + 1] - first);
  if (count == 0) return 0;
  Magnitude total;
  total.count = count + 2;
  __int128 carry = 0;
  for (int w = 0; w < count; ++w) {
    auto const* const window = sums.windows + 2 * (first + static_cast<unsigned>(w));
    carry += static_cast<__int128>(static_cast<unsigned __int128>(window[1]) << 64 | window[0]);
    total.words[w] = static_cast<std::uint64_t>(carry);
    carry >>= 64;
  }
  total.words[count] = static_cast<std::uint64_t>(carry);
  total.words[count + 1] = carry < 0 ? ~std::uint64_t{0} : 0;
  return round_signed(
      total, 64 * sums.first_windows[group] + unit_exponent(is_wide ? GARUDA_CUDA_FLOAT64 : GARUDA_CUDA_FLOAT32));
}

__global__ void finish_float_sums_kernel(FloatWindows sums, bool is_wide, std::uint64_t const* counts,
                                         std::uint32_t groups, std::uint64_t* out) {
  for (auto g = global_thread(); g < groups; g += grid_threads()) {
    auto const sum = round_windows(sums, g, is_wide);
    out[g] = counts == nullptr ? sum : mean_of(sum, counts[g]);
  }
}

/// core/ordered_value.hpp backwards.
__device__ std::uint64_t value_of(std::uint64_t ordered, GarudaCudaValueKind kind) {
  switch (kind) {
    case GARUDA_CUDA_INT32:
      return ordered ^ 0x8000'0000U;
    case GARUDA_CUDA_INT64:
      return ordered ^ kSign;
    case GARUDA_CUDA_FLOAT32:
      return (ordered & 0x8000'0000U) != 0 ? ordered & 0x7fff'ffffU : ~ordered & 0xffff'ffffU;
    case GARUDA_CUDA_FLOAT64:
      return (ordered & kSign) != 0 ? ordered & ~kSign : ~ordered;
    default:
      return ordered;
  }
}

template <class Word>
__global__ void finish_extremes_kernel(std::uint64_t const* ordered, GarudaCudaValueKind kind, std::uint32_t groups,
                                       Word* out) {
  for (auto g = global_thread(); g < groups; g += grid_threads())
    out[g] = static_cast<Word>(value_of(ordered[g], kind));
}

}  // namespace

template <class Key>
cudaError_t gather_keys(Launch const& launch, Key const* keys, std::uint32_t const* heads, std::uint32_t groups,
                        Key* keys_out) {
  GARUDA_LAUNCH(gather_keys_kernel, groups)(keys, heads, groups, keys_out);
  return cudaGetLastError();
}
template cudaError_t gather_keys(Launch const&, std::uint32_t const*, std::uint32_t const*, std::uint32_t,
                                 std::uint32_t*);
template cudaError_t gather_keys(Launch const&, std::uint64_t const*, std::uint32_t const*, std::uint32_t,
                                 std::uint64_t*);

cudaError_t finish_sums(Launch const& launch, std::uint64_t const* sums, GarudaCudaValueKind kind, std::uint32_t groups,
                        std::uint64_t* out, std::uint32_t* overflow) {
  bool const is_signed_kind = kind == GARUDA_CUDA_INT32 || kind == GARUDA_CUDA_INT64;
  GARUDA_LAUNCH(finish_sums_kernel, groups)(sums, is_signed_kind, groups, out, overflow);
  return cudaGetLastError();
}

cudaError_t finish_rounded(Launch const& launch, SignedSums const& sums, int exponent, std::uint64_t const* counts,
                           std::uint32_t groups, std::uint64_t* out) {
  GARUDA_LAUNCH(finish_rounded_kernel, groups)(sums, exponent, counts, groups, out);
  return cudaGetLastError();
}

cudaError_t finish_float_sums(Launch const& launch, FloatWindows const& sums, GarudaCudaValueKind kind,
                              std::uint64_t const* counts, std::uint32_t groups, std::uint64_t* out) {
  GARUDA_LAUNCH(finish_float_sums_kernel, groups)(sums, kind == GARUDA_CUDA_FLOAT64, counts, groups, out);
  return cudaGetLastError();
}

cudaError_t finish_extremes(Launch const& launch, std::uint64_t const* ordered, GarudaCudaValueKind kind,
                            std::uint32_t groups, void* out) {
  bool const is_narrow = kind == GARUDA_CUDA_INT32 || kind == GARUDA_CUDA_UINT32 || kind == GARUDA_CUDA_FLOAT32;
  if (is_narrow) {
    GARUDA_LAUNCH(finish_extremes_kernel, groups)(ordered, kind, groups, static_cast<std::uint32_t*>(out));
  } else {
    GARUDA_LAUNCH(finish_extremes_kernel, groups)(ordered, kind, groups, static_cast<std::uint64_t*>(out));
  }
  return cudaGetLastError();
}

}  // namespace garuda::cuda
