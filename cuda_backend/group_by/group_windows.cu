// Sums of floats by windows of 64 bits, of which each group has as many as its values touch.
#include <span>

#include "cuda_backend/group_by/group_values.cuh"
#include "cuda_backend/group_by/ordered_values.cuh"
#include "cuda_backend/primitives.hpp"

namespace garuda::cuda_backend {
namespace {

/// What a magnitude adds to the window of its position and to the next one.
struct WindowTerms {
  std::uint32_t window;
  std::uint64_t low;
  std::uint64_t high;
};
__device__ WindowTerms window_terms(FloatParts const& parts) {
  auto const shift = parts.position % 64;
  return {parts.position / 64, parts.magnitude << shift, shift == 0 ? 0 : parts.magnitude >> (64 - shift)};
}

/// Threads keep their own extremes; then one of each block speaks for it.
template <GarudaCudaValueKind kKind>
__global__ void find_range_kernel(std::uint32_t const* values, std::uint32_t rows, FloatRange* range) {
  __shared__ FloatRange own;
  if (threadIdx.x == 0) own = FloatRange{};
  __syncthreads();
  FloatRange mine;
#pragma unroll 4
  for (auto i = global_thread(); i < rows; i += grid_threads()) {
    auto const parts = split_float(float_of<kKind>(values + i * words_of(kKind)));
    mine.flags |= parts.special;
    if (parts.magnitude == 0) continue;
    auto const magnitude = static_cast<long long>(parts.magnitude);
    auto const lowest = parts.position + static_cast<std::uint32_t>(__ffsll(magnitude)) - 1;
    auto const above = parts.position + 64 - static_cast<std::uint32_t>(__clzll(magnitude));
    mine.lowest = lowest < mine.lowest ? lowest : mine.lowest;
    mine.above = above > mine.above ? above : mine.above;
  }
  if (mine.flags != 0) atomicOr(&own.flags, mine.flags);
  atomicMin(&own.lowest, mine.lowest);
  atomicMax(&own.above, mine.above);
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (own.flags != 0) atomicOr(&range->flags, own.flags);
  atomicMin(&range->lowest, own.lowest);
  atomicMax(&range->above, own.above);
}

/// What the floats of a group touch, an array of groups each. lowest: all ones before, the others 0.
struct FloatSpans {
  std::uint32_t* flags = nullptr;   ///< as core/numbers/float_parts.hpp has them
  std::uint32_t* lowest = nullptr;  ///< window
  std::uint32_t* above = nullptr;   ///< one past the highest window; 0: none
};

template <GarudaCudaValueKind kKind>
__global__ void find_spans_kernel(GroupedValues values, FloatSpans spans) {
  for (auto i = global_thread(); i < values.rows; i += grid_threads()) {
    auto const row = static_cast<std::uint32_t>(i);
    if (!is_valid(values, row)) continue;
    auto const group = group_of(values, row);
    auto const parts = split_float(float_of<kKind>(values.values + i * words_of(kKind)));
    if (parts.special != 0) {
      if ((read_word(&spans.flags[group]) & parts.special) == 0)
        atomicOr(&spans.flags[group], std::uint32_t{parts.special});
    } else if (parts.magnitude != 0) {
      auto const terms = window_terms(parts);
      auto const lowest = terms.low != 0 ? terms.window : terms.window + 1;
      auto const above = terms.high != 0 ? terms.window + 2 : terms.window + 1;
      if (lowest < read_word(&spans.lowest[group])) atomicMin(&spans.lowest[group], lowest);
      if (above > read_word(&spans.above[group])) atomicMax(&spans.above[group], above);
    }
  }
}

/// counts: groups + 1, the last 0. first_windows and flag bytes are final.
__global__ void count_windows_kernel(FloatSpans spans, std::uint32_t groups, std::uint32_t* counts,
                                     std::uint8_t* first_windows, std::uint8_t* flags) {
  for (auto g = global_thread(); g <= groups; g += grid_threads()) {
    auto const above = g < groups ? spans.above[g] : 0;
    counts[g] = above == 0 ? 0 : above - spans.lowest[g];
    if (g == groups) continue;
    first_windows[g] = above == 0 ? 0 : static_cast<std::uint8_t>(spans.lowest[g]);
    flags[g] = static_cast<std::uint8_t>(spans.flags[g]);
  }
}

__device__ void add_halves(std::uint64_t* halves, std::uint64_t term, bool negative) {
  auto const low = term & 0xffff'ffffU;
  auto const high = term >> 32;
  add(halves, negative ? 0 - low : low);
  add(halves + 1, negative ? 0 - high : high);
}

/// `halves`: of the whole table, or of a block's copy.
template <GarudaCudaValueKind kKind>
__device__ void add_float(GroupedValues const& values, FloatSpans const& spans, std::uint64_t const* offsets,
                          std::uint32_t row, std::uint64_t* halves) {
  if (!is_valid(values, row)) return;
  auto const parts = split_float(float_of<kKind>(values.values + std::uint64_t{row} * words_of(kKind)));
  if (parts.magnitude == 0) return;  // special values have none
  auto const group = group_of(values, row);
  auto const terms = window_terms(parts);
  // The first window may lie above that of the position, whose term is 0 then.
  auto const base = static_cast<std::int64_t>(offsets[group]) - spans.lowest[group];
  if (terms.low != 0) add_halves(halves + 2 * (base + terms.window), terms.low, parts.negative);
  if (terms.high != 0) add_halves(halves + 2 * (base + terms.window + 1), terms.high, parts.negative);
}

template <GarudaCudaValueKind kKind>
__global__ void accumulate_windows_kernel(GroupedValues values, FloatSpans spans, std::uint64_t const* offsets,
                                          std::uint64_t* halves) {
  for (auto i = global_thread(); i < values.rows; i += grid_threads())
    add_float<kKind>(values, spans, offsets, static_cast<std::uint32_t>(i), halves);
}

template <GarudaCudaValueKind kKind>
__global__ void accumulate_windows_shared_kernel(GroupedValues values, FloatSpans spans, std::uint64_t const* offsets,
                                                 std::uint32_t words, std::uint32_t copies, std::uint64_t* halves) {
  extern __shared__ std::uint64_t shared_words[];
  for (auto i = threadIdx.x; i < words * copies; i += blockDim.x) shared_words[i] = 0;
  __syncthreads();
  auto* const own = shared_words + threadIdx.x % copies * words;
  for (auto i = global_thread(); i < values.rows; i += grid_threads())
    add_float<kKind>(values, spans, offsets, static_cast<std::uint32_t>(i), own);
  __syncthreads();
  for (auto i = threadIdx.x; i < words * copies; i += blockDim.x) add(halves + i % words, shared_words[i]);
}

/// Halves to 128-bit sums, in place.
__global__ void combine_windows_kernel(std::uint64_t* windows, std::uint64_t num_windows) {
  for (auto w = global_thread(); w < num_windows; w += grid_threads()) {
    auto const low = static_cast<__int128>(static_cast<std::int64_t>(windows[2 * w]));
    auto const high = static_cast<__int128>(static_cast<std::int64_t>(windows[2 * w + 1]));
    write_wide(windows + 2 * w, low + high * (static_cast<__int128>(1) << 32));
  }
}

/// Adds into 2 words a window, 0 before: sums of low and of high halves.
template <GarudaCudaValueKind kKind>
Result<void> accumulate_windows(Lane& lane, GroupedValues const& values, FloatSpans const& spans,
                                std::uint64_t const* offsets, std::uint64_t num_windows, std::uint64_t* halves) {
  auto const words = 2 * num_windows;
  auto const shared = shared_copies(lane, words, values.rows);
  if (shared.copies == 0)
    return launch_over(lane, values.rows, accumulate_windows_kernel<kKind>, values, spans, offsets, halves);
  return launch(lane, shared.grid, accumulate_windows_shared_kernel<kKind>, values, spans, offsets,
                static_cast<std::uint32_t>(words), shared.copies, halves);
}

template <GarudaCudaValueKind kKind>
Result<void> sum_kind(Lane& lane, GroupedValues const& values, GroupStates& states) {
  auto const groups = std::uint64_t{values.groups};
  GARUDA_TRY_ASSIGN(auto const span_words, lane.allocate(3 * groups * 4, "spans of floats"));
  auto* const words = span_words.template as<std::uint32_t>();
  FloatSpans const spans{words, words + groups, words + 2 * groups};
  GARUDA_CUDA_TRY(cudaMemsetAsync(words, 0, 3 * groups * 4, lane.stream()));
  GARUDA_CUDA_TRY(cudaMemsetAsync(spans.lowest, 0xff, groups * 4, lane.stream()));
  GARUDA_TRY(launch_over(lane, values.rows, find_spans_kernel<kKind>, values, spans));
  GARUDA_TRY_ASSIGN(auto const counts, lane.allocate((groups + 1) * 4, "windows of groups"));
  GARUDA_TRY_ASSIGN(states.flags, lane.allocate(groups, "flags"));
  GARUDA_TRY_ASSIGN(states.first_windows, lane.allocate(groups, "first windows"));
  GARUDA_TRY_ASSIGN(states.offsets, lane.allocate((groups + 1) * 8, "offsets of windows"));
  auto* const count_words = counts.template as<std::uint32_t>();
  GARUDA_TRY(launch_over(lane, groups + 1, count_windows_kernel, spans, values.groups, count_words,
                         states.first_windows.template as<std::uint8_t>(), states.flags.template as<std::uint8_t>()));
  auto* const offsets = states.offsets.template as<std::uint64_t>();
  GARUDA_TRY(sum_up(lane, count_words, offsets, values.groups + 1));
  GARUDA_TRY(lane.download(std::as_writable_bytes(std::span(&states.num_windows, 1)), offsets + groups));
  if (states.num_windows == 0) return {};
  GARUDA_TRY(lane.step("aggregate", 0, values.rows));
  GARUDA_TRY_ASSIGN(states.windows, lane.allocate(states.num_windows * 16, "windows"));
  auto* const windows = states.windows.template as<std::uint64_t>();
  GARUDA_CUDA_TRY(cudaMemsetAsync(windows, 0, states.num_windows * 16, lane.stream()));
  GARUDA_TRY(accumulate_windows<kKind>(lane, values, spans, offsets, states.num_windows, windows));
  return launch_over(lane, states.num_windows, combine_windows_kernel, windows, states.num_windows);
}

}  // namespace

Result<void> sum_floats(Lane& lane, GroupedValues const& values, GroupStates& states) {
  return values.kind == GARUDA_CUDA_FLOAT32 ? sum_kind<GARUDA_CUDA_FLOAT32>(lane, values, states)
                                            : sum_kind<GARUDA_CUDA_FLOAT64>(lane, values, states);
}

Result<void> find_range(Lane& lane, void const* values, GarudaCudaValueKind kind, std::uint32_t rows,
                        FloatRange* range) {
  auto* const kernel =
      kind == GARUDA_CUDA_FLOAT32 ? find_range_kernel<GARUDA_CUDA_FLOAT32> : find_range_kernel<GARUDA_CUDA_FLOAT64>;
  return launch_over(lane, rows, kernel, static_cast<std::uint32_t const*>(values), rows, range);
}

}  // namespace garuda::cuda_backend
