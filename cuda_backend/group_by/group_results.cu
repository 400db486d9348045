#include "cuda_backend/group_by/group_results.hpp"

#include <utility>

#include "core/numbers/exact_rounding.hpp"
#include "core/numbers/float_parts.hpp"
#include "cuda_backend/group_by/group_values.cuh"

namespace garuda::cuda_backend {
namespace {

/// Sums of 2 words a group as 64 bits; a sum beyond them sets `overflow`, 0 before.
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

/// Sums times 2^exponent, rounded once to nearest even, as float64; over `counts` where these are given.
__global__ void finish_rounded_kernel(SignedSums sums, std::uint64_t const* counts, std::uint32_t groups,
                                      std::uint64_t* out) {
  for (auto g = global_thread(); g < groups; g += grid_threads()) {
    ExactInteger total;
    total.count = 2;
    auto const* const words = sums.words + g * sums.words_each;
    total.words[0] = words[0];
    total.words[1] = sums.words_each == 2 ? words[1] : words[0] >> 63 != 0 ? ~std::uint64_t{0} : 0;
    auto const sum = round_signed(total, sums.exponent);
    out[g] = counts == nullptr ? sum : mean_of(sum, counts[g]);
  }
}

/// Sums of floats from their windows, likewise; as operators/resolve/aggregates.hpp on the host.
__global__ void finish_float_sums_kernel(FloatWindows sums, int exponent, std::uint64_t const* counts,
                                         std::uint32_t groups, std::uint64_t* out) {
  for (auto g = global_thread(); g < groups; g += grid_threads()) {
    auto const sum = garuda::round_windows(static_cast<std::uint8_t>(sums.flags[g]),
                                           sums.windows + 2 * g * sums.num_windows, static_cast<int>(sums.num_windows),
                                           static_cast<int>(64 * sums.first_window) + exponent);
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

/// Order-preserving words back to values of `kind`.
template <class Word>
__global__ void finish_extremes_kernel(std::uint64_t const* ordered, GarudaCudaValueKind kind, std::uint32_t groups,
                                       Word* out) {
  for (auto g = global_thread(); g < groups; g += grid_threads())
    out[g] = static_cast<Word>(value_of(ordered[g], kind));
}

Result<void> finish_extremes(Lane& lane, std::uint64_t const* ordered, GarudaCudaValueKind kind, std::uint32_t groups,
                             void* out) {
  if (!is_wide(kind))
    return launch_over(lane, groups, finish_extremes_kernel<std::uint32_t>, ordered, kind, groups,
                       static_cast<std::uint32_t*>(out));
  return launch_over(lane, groups, finish_extremes_kernel<std::uint64_t>, ordered, kind, groups,
                     static_cast<std::uint64_t*>(out));
}

}  // namespace

int unit_exponent(GarudaCudaValueKind kind) {
  return kind == GARUDA_CUDA_FLOAT64 ? kUnitExponent<double> : is_float(kind) ? kUnitExponent<float> : 0;
}

Result<std::uint64_t const*> ResultColumns::finish(GarudaCudaResidentAggregate const& aggregate,
                                                   ResultStates const& states, std::uint32_t groups) {
  auto const kind = static_cast<GarudaCudaValueKind>(aggregate.kind);
  bool const is_sum = aggregate.function == GARUDA_CUDA_FUNCTION_SUM;
  if (aggregate.function == GARUDA_CUDA_FUNCTION_COUNT) return states.counts;
  if (is_sum && !is_float(kind) && states.sums.words_each == 1) return states.sums.words;
  GARUDA_TRY_ASSIGN(auto column, lane_.allocate(std::uint64_t{groups} * 8, "column of groups"));
  auto* const out = column.as<std::uint64_t>();
  keep(std::move(column));
  auto const* const counts = aggregate.function == GARUDA_CUDA_FUNCTION_MEAN ? states.counts : nullptr;
  if (states.extremes != nullptr) {
    GARUDA_TRY(finish_extremes(lane_, states.extremes, kind, groups, out));
  } else if (states.windows.flags != nullptr) {
    GARUDA_TRY(
        launch_over(lane_, groups, finish_float_sums_kernel, states.windows, unit_exponent(kind), counts, groups, out));
  } else if (is_sum && !is_float(kind)) {
    if (!overflow_) {
      GARUDA_TRY_ASSIGN(overflow_, lane_.allocate(4, "overflow"));
      GARUDA_CUDA_TRY(cudaMemsetAsync(overflow_.as<void>(), 0, 4, lane_.stream()));
    }
    GARUDA_TRY(launch_over(lane_, groups, finish_sums_kernel, states.sums.words, is_signed(kind), groups, out,
                           overflow_.as<std::uint32_t>()));
  } else {
    GARUDA_TRY(launch_over(lane_, groups, finish_rounded_kernel, states.sums, counts, groups, out));
  }
  return out;
}

Result<void> ResultColumns::wait() {
  if (!overflow_) return lane_.wait();
  std::uint32_t overflowed = 0;
  GARUDA_TRY(lane_.download(std::as_writable_bytes(std::span(&overflowed, 1)), overflow_.as<void>()));
  if (overflowed != 0) return fail(ErrorCode::limit_exceeded, "the sum of a group is beyond 64 bits");
  return {};
}

}  // namespace garuda::cuda_backend
