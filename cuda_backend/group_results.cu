#include "cuda_backend/group_results.hpp"

#include "core/exact_rounding.hpp"
#include "cuda_backend/group_values.cuh"

namespace garuda::cuda_backend {
namespace {

template <class Key>
__global__ void gather_keys_kernel(Key const* keys, std::uint32_t const* heads, std::uint32_t groups, Key* keys_out) {
  for (auto g = global_thread(); g < groups; g += grid_threads()) keys_out[g] = keys[heads == nullptr ? 0 : heads[g]];
}

__global__ void finish_sums_kernel(std::uint64_t const* sums, bool is_signed_kind, std::uint32_t groups,
                                   std::uint64_t* out, std::uint32_t* overflow) {
  for (auto g = global_thread(); g < groups; g += grid_threads()) {
    auto const low = sums[2 * g];
    auto const expected = is_signed_kind && (low & kSign64) != 0 ? ~std::uint64_t{0} : 0;
    if (sums[2 * g + 1] != expected) *overflow = 1;
    out[g] = low;
  }
}

/// A sum over its count; NaN stays the one NaN there is.
__device__ std::uint64_t mean_of(std::uint64_t sum_bits, std::uint64_t count) {
  if (sum_bits == kCanonicalNan64) return sum_bits;
  auto const sum = __longlong_as_double(static_cast<long long>(sum_bits));
  auto const mean = __ddiv_rn(sum, __ull2double_rn(count));
  return static_cast<std::uint64_t>(__double_as_longlong(mean));
}

__global__ void finish_rounded_kernel(SignedSums sums, int exponent, std::uint64_t const* counts, std::uint32_t groups,
                                      std::uint64_t* out) {
  for (auto g = global_thread(); g < groups; g += grid_threads()) {
    ExactInteger total;
    total.count = 2;
    auto const* const words = sums.words + g * sums.words_each;
    total.words[0] = words[0];
    total.words[1] = sums.words_each == 2 ? words[1] : words[0] >> 63 != 0 ? ~std::uint64_t{0} : 0;
    auto const sum = round_signed(total, exponent);
    out[g] = counts == nullptr ? sum : mean_of(sum, counts[g]);
  }
}

__global__ void finish_float_sums_kernel(FloatWindows sums, int exponent, std::uint64_t const* counts,
                                         std::uint32_t groups, std::uint64_t* out) {
  for (auto g = global_thread(); g < groups; g += grid_threads()) {
    auto const first = sums.offsets[g];
    auto const count = static_cast<int>(sums.offsets[g + 1] - first);
    auto const sum =
        garuda::round_windows(sums.flags[g], sums.windows + 2 * first, count, 64 * sums.first_windows[g] + exponent);
    out[g] = counts == nullptr ? sum : mean_of(sum, counts[g]);
  }
}

/// The value whose ordered word it is.
__device__ std::uint64_t value_of(std::uint64_t ordered, GarudaCudaValueKind kind) {
  switch (kind) {
    case GARUDA_CUDA_INT32:
      return ordered_signed(static_cast<std::uint32_t>(ordered));
    case GARUDA_CUDA_INT64:
      return ordered_signed(ordered);
    case GARUDA_CUDA_FLOAT32:
      return bits_from_ordered(static_cast<std::uint32_t>(ordered));
    case GARUDA_CUDA_FLOAT64:
      return bits_from_ordered(ordered);
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
  GARUDA_LAUNCH(finish_float_sums_kernel, groups)(sums, unit_exponent(kind), counts, groups, out);
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

}  // namespace garuda::cuda_backend
