#include "cuda_backend/group_by/group_states.hpp"

#include "cuda_backend/group_by/group_values.cuh"
#include "cuda_backend/group_by/ordered_values.cuh"

namespace garuda::cuda_backend {
namespace {

constexpr int limbs_of(GarudaCudaValueKind kind) { return is_float(kind) ? 0 : words_of(kind); }
/// The limbs of a value as terms of the sums: the top one with its sign.
template <GarudaCudaValueKind kKind>
__device__ std::uint64_t limb_of(std::uint32_t const* value, int limb) {
  if (is_signed(kKind) && limb + 1 == limbs_of(kKind))
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(value[limb])));
  return value[limb];
}

/// Adds one row to the accumulators of its group.
template <GarudaCudaValueKind kKind>
__device__ void accumulate_row(GroupedValues const& values, AccumulatorLayout const& layout, std::uint32_t row,
                               std::uint64_t* accumulators) {
  auto* const own = accumulators + group_of(values, row);
  auto const groups = std::uint64_t{values.groups};
  if (layout.count >= 0) add(own + groups * static_cast<unsigned>(layout.count), 1);
  if constexpr (kKind != GARUDA_CUDA_NONE) {
    std::uint32_t value[words_of(kKind)];
    for (int w = 0; w < words_of(kKind); ++w) value[w] = values.values[std::uint64_t{row} * words_of(kKind) + w];
    if (layout.sum >= 0)
      for (int limb = 0; limb < limbs_of(kKind); ++limb)
        add(own + groups * static_cast<unsigned>(layout.sum + limb), limb_of<kKind>(value, limb));
    if (layout.min >= 0) keep_least(own + groups * static_cast<unsigned>(layout.min), ordered<kKind>(value));
    if (layout.max >= 0) keep_greatest(own + groups * static_cast<unsigned>(layout.max), ordered<kKind>(value));
  }
}

template <GarudaCudaValueKind kKind>
__global__ void accumulate_kernel(GroupedValues values, AccumulatorLayout layout, std::uint64_t* accumulators) {
  for (auto i = global_thread(); i < values.rows; i += grid_threads())
    if (is_valid(values, static_cast<std::uint32_t>(i)))
      accumulate_row<kKind>(values, layout, static_cast<std::uint32_t>(i), accumulators);
}

/// Few groups: a block has `copies` of all accumulators in shared memory, and neighbouring lanes use different ones.
template <GarudaCudaValueKind kKind>
__global__ void accumulate_shared_kernel(GroupedValues values, AccumulatorLayout layout, std::uint32_t copies,
                                         std::uint64_t* accumulators) {
  extern __shared__ std::uint64_t shared_words[];
  auto const words = values.groups * static_cast<std::uint32_t>(layout.words);
  auto const word_is = [&](std::uint32_t i, int which) {
    return which >= 0 && i / values.groups == static_cast<std::uint32_t>(which);
  };
  for (auto i = threadIdx.x; i < words * copies; i += blockDim.x)
    shared_words[i] = word_is(i % words, layout.min) ? ~std::uint64_t{0} : 0;
  __syncthreads();
  auto* const own = shared_words + threadIdx.x % copies * words;
  for (auto i = global_thread(); i < values.rows; i += grid_threads())
    if (is_valid(values, static_cast<std::uint32_t>(i)))
      accumulate_row<kKind>(values, layout, static_cast<std::uint32_t>(i), own);
  __syncthreads();
  for (auto i = threadIdx.x; i < words * copies; i += blockDim.x) {
    auto const word = i % words;
    if (word_is(word, layout.min)) {
      keep_least(accumulators + word, shared_words[i]);
    } else if (word_is(word, layout.max)) {
      keep_greatest(accumulators + word, shared_words[i]);
    } else {
      add(accumulators + word, shared_words[i]);
    }
  }
}

/// Low words of 128-bit extremes, of the rows whose high word is their group's. minima: all ones before; either null.
__global__ void accumulate_low_words_kernel(GroupedValues values, std::uint64_t const* min_high, std::uint64_t* min_low,
                                            std::uint64_t const* max_high, std::uint64_t* max_low) {
  for (auto i = global_thread(); i < values.rows; i += grid_threads()) {
    auto const row = static_cast<std::uint32_t>(i);
    if (!is_valid(values, row)) continue;
    auto const* const value = values.values + i * 4;
    auto const group = group_of(values, row);
    auto const high = ordered<GARUDA_CUDA_INT128>(value);
    auto const low = std::uint64_t{value[1]} << 32 | value[0];
    if (min_high != nullptr && high == min_high[group]) keep_least(min_low + group, low);
    if (max_high != nullptr && high == max_high[group]) keep_greatest(max_low + group, low);
  }
}

/// limbs × groups words to 2 words a group, of 128-bit kinds 4. Sums of low limbs are below 2^56, of the top one as
/// signed as the kind.
__global__ void combine_limbs_kernel(std::uint64_t const* limbs, int num_limbs, bool is_signed_kind,
                                     std::uint32_t groups, std::uint64_t* sums) {
  auto const top_of = [&](std::uint64_t limb) {
    return is_signed_kind ? static_cast<__int128>(static_cast<std::int64_t>(limb)) : static_cast<__int128>(limb);
  };
  for (auto g = global_thread(); g < groups; g += grid_threads()) {
    auto const limb = [&](int which) { return limbs[std::uint64_t{groups} * static_cast<unsigned>(which) + g]; };
    if (num_limbs == 1) {
      write_wide(sums + 2 * g, top_of(limb(0)));
    } else if (num_limbs == 2) {
      write_wide(sums + 2 * g, static_cast<__int128>(limb(0)) + (top_of(limb(1)) << 32));
    } else {
      auto const low = static_cast<__int128>(limb(0)) + (static_cast<__int128>(limb(1)) << 32);
      auto const high = (low >> 64) + static_cast<__int128>(limb(2)) + (top_of(limb(3)) << 32);
      sums[4 * g] = static_cast<std::uint64_t>(low);
      write_wide(sums + 4 * g + 1, high);
      sums[4 * g + 3] = high < 0 ? ~std::uint64_t{0} : 0;
    }
  }
}

/// high and low × groups words to 2 words a group.
__global__ void combine_extremes_kernel(std::uint64_t const* high, std::uint64_t const* low, std::uint32_t groups,
                                        std::uint64_t* extremes) {
  for (auto g = global_thread(); g < groups; g += grid_threads()) {
    extremes[2 * g] = low[g];
    extremes[2 * g + 1] = high[g];
  }
}

AccumulatorLayout layout_of(GarudaCudaValueKind kind, std::uint32_t states) {
  AccumulatorLayout layout;
  auto const take = [&](bool wanted, int words) {
    if (!wanted || words == 0) return -1;
    auto const first = layout.words;
    layout.words += words;
    return first;
  };
  layout.limbs = (states & GARUDA_CUDA_SUM) != 0 ? limbs_of(kind) : 0;
  layout.count = take((states & GARUDA_CUDA_COUNT) != 0, 1);
  layout.sum = take(layout.limbs > 0, layout.limbs);
  layout.min = take((states & GARUDA_CUDA_MIN) != 0, 1);
  layout.max = take((states & GARUDA_CUDA_MAX) != 0, 1);
  return layout;
}

template <GarudaCudaValueKind kKind>
Result<void> accumulate_kind(Lane& lane, GroupedValues const& values, AccumulatorLayout const& layout,
                             std::uint64_t* accumulators) {
  auto const words = std::uint64_t{values.groups} * static_cast<unsigned>(layout.words);
  auto const shared = shared_copies(lane, words, values.rows);
  if (shared.copies == 0) return launch_over(lane, values.rows, accumulate_kernel<kKind>, values, layout, accumulators);
  return launch(lane, shared.grid, accumulate_shared_kernel<kKind>, values, layout, shared.copies, accumulators);
}

/// Into words × groups words, initialised: counts, sums and maxima 0, minima all ones.
Result<void> accumulate_words(Lane& lane, GroupedValues const& values, AccumulatorLayout const& layout,
                              std::uint64_t* accumulators) {
#define GARUDA_KIND(kind) \
  case kind:              \
    return accumulate_kind<kind>(lane, values, layout, accumulators)
  switch (values.kind) {
    GARUDA_KIND(GARUDA_CUDA_NONE);
    GARUDA_KIND(GARUDA_CUDA_INT32);
    GARUDA_KIND(GARUDA_CUDA_UINT32);
    GARUDA_KIND(GARUDA_CUDA_INT64);
    GARUDA_KIND(GARUDA_CUDA_UINT64);
    GARUDA_KIND(GARUDA_CUDA_INT128);
    GARUDA_KIND(GARUDA_CUDA_FLOAT32);
    GARUDA_KIND(GARUDA_CUDA_FLOAT64);
  }
#undef GARUDA_KIND
  return check(cudaErrorInvalidValue, "a kind of values");
}

/// Extremes of 128 bits: among the values with the group's high word, the extreme low one.
Result<Buffer> wide_extremes(Lane& lane, GroupedValues const& values, std::uint64_t const* high, bool is_min) {
  auto const word_bytes = std::uint64_t{values.groups} * 8;
  GARUDA_TRY_ASSIGN(auto const low, lane.allocate(word_bytes, "low words of extremes"));
  auto* const low_words = low.as<std::uint64_t>();
  GARUDA_CUDA_TRY(cudaMemsetAsync(low_words, is_min ? 0xff : 0, word_bytes, lane.stream()));
  auto* const none = static_cast<std::uint64_t*>(nullptr);
  GARUDA_TRY(launch_over(lane, values.rows, accumulate_low_words_kernel, values, is_min ? high : none,
                         is_min ? low_words : none, is_min ? none : high, is_min ? none : low_words));
  GARUDA_TRY_ASSIGN(auto extremes, lane.allocate(2 * word_bytes, "extremes"));
  GARUDA_TRY(launch_over(lane, values.groups, combine_extremes_kernel, high, low_words, values.groups,
                         extremes.as<std::uint64_t>()));
  return extremes;
}

Result<void> accumulate_integers(Lane& lane, GroupedValues const& values, GroupStates& states) {
  auto const& layout = states.layout;
  auto const word_bytes = std::uint64_t{values.groups} * 8;
  bool const is_wide = states.kind == GARUDA_CUDA_INT128;
  GARUDA_TRY_ASSIGN(states.accumulators,
                    lane.allocate(word_bytes * static_cast<unsigned>(layout.words), "accumulators"));
  auto* const accumulators = states.accumulators.as<std::uint64_t>();
  GARUDA_CUDA_TRY(cudaMemsetAsync(accumulators, 0, states.accumulators.bytes(), lane.stream()));
  if (layout.min >= 0)
    GARUDA_CUDA_TRY(cudaMemsetAsync(states.accumulator(layout.min), 0xff, word_bytes, lane.stream()));
  GARUDA_TRY(accumulate_words(lane, values, layout, accumulators));
  if (layout.sum >= 0) {
    GARUDA_TRY_ASSIGN(states.sums, lane.allocate(word_bytes * (is_wide ? 4 : 2), "sums"));
    GARUDA_TRY(launch_over(lane, values.groups, combine_limbs_kernel, states.accumulator(layout.sum), layout.limbs,
                           is_signed(states.kind), values.groups, states.sums.as<std::uint64_t>()));
  }
  if (is_wide && layout.min >= 0) {
    GARUDA_TRY_ASSIGN(states.minima, wide_extremes(lane, values, states.accumulator(layout.min), true));
  }
  if (is_wide && layout.max >= 0) {
    GARUDA_TRY_ASSIGN(states.maxima, wide_extremes(lane, values, states.accumulator(layout.max), false));
  }
  return {};
}

}  // namespace

Result<GroupStates> accumulate(Lane& lane, GroupedValues const& values, std::uint32_t states) {
  GroupStates found;
  found.kind = values.kind;
  found.groups = values.groups;
  found.layout = layout_of(values.kind, states);
  if (found.layout.words > 0) GARUDA_TRY(accumulate_integers(lane, values, found));
  if ((states & GARUDA_CUDA_SUM) != 0 && is_float(values.kind)) GARUDA_TRY(sum_floats(lane, values, found));
  return found;
}

}  // namespace garuda::cuda_backend
