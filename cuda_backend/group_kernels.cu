#include "cuda_backend/group_kernels.hpp"

#include "cuda_backend/hashing.cuh"

namespace garuda::cuda {
namespace {

constexpr unsigned kThreads = 256;
/// Words of accumulators that a block keeps in shared memory: what every device grants without opting in.
constexpr std::uint32_t kSharedWords = 6 * 1024;
constexpr std::uint32_t kMostCopies = 32;
constexpr unsigned kSharedBlocksEach = 4;  // blocks a multiprocessor, each of which adds its copy to the others' once
/// A probe looks at the overflow flag every so many slots.
constexpr std::uint32_t kStepsBetweenLooks = 64;

#define GARUDA_LAUNCH(kernel, items) \
  kernel<<<grid_for(items, kThreads, launch.multiprocessors), kThreads, 0, launch.stream>>>

template <class Key>
struct PackedKeys {
  Key const* keys;
  __device__ std::uint32_t hash(std::uint32_t row, std::uint32_t log2_slots) const {
    return static_cast<std::uint32_t>(mix(keys[row]) >> (8 * sizeof(Key) - log2_slots));
  }
  __device__ bool are_equal(std::uint32_t a, std::uint32_t b) const { return keys[a] == keys[b]; }
};

struct WordKeys {
  std::uint32_t const* words;
  std::uint32_t rows;
  std::uint32_t num_words;
  __device__ std::uint32_t hash(std::uint32_t row, std::uint32_t log2_slots) const {
    constexpr std::uint64_t kOdd = 0x9e37'79b9'7f4a'7c15U;
    std::uint64_t hashed = 0;
    for (std::uint32_t w = 0; w < num_words; ++w)
      hashed = mix(hashed ^ (words[std::uint64_t{w} * rows + row] + kOdd * (w + 1)));
    return static_cast<std::uint32_t>(hashed >> (64 - log2_slots));
  }
  __device__ bool are_equal(std::uint32_t a, std::uint32_t b) const {
    for (std::uint32_t w = 0; w < num_words; ++w)
      if (words[std::uint64_t{w} * rows + a] != words[std::uint64_t{w} * rows + b]) return false;
    return true;
  }
};

__device__ std::uint32_t read_word(std::uint32_t const* word) {
  return *static_cast<std::uint32_t const volatile*>(word);
}

/// A head only ever changes from one row of a key to a lower one of the same key, so any value read will do.
template <class Keys>
__global__ void hash_rows_kernel(Keys keys, std::uint32_t rows, GroupTable table, std::uint32_t* slots) {
  auto const slot_mask = (1U << table.log2_slots) - 1;
  for (auto i = global_thread(); i < rows; i += grid_threads()) {
    auto const row = static_cast<std::uint32_t>(i);
    auto slot = keys.hash(row, table.log2_slots);
    for (std::uint32_t step = 0;; ++step) {
      if (step % kStepsBetweenLooks == kStepsBetweenLooks - 1 && (read_word(table.overflow) != 0 || step > slot_mask)) {
        *table.overflow = 1;
        return;
      }
      auto head = read_word(&table.heads[slot]);
      if (head == kNoRow) {
        head = atomicCAS(&table.heads[slot], kNoRow, row);
        if (head == kNoRow) {
          if (atomicAdd(table.inserted, 1U) >= table.max_groups) *table.overflow = 1;
          break;
        }
      }
      if (keys.are_equal(head, row)) {
        if (row < head) atomicMin(&table.heads[slot], row);
        break;
      }
      slot = (slot + 1) & slot_mask;
    }
    slots[row] = slot;
  }
}

template <class Key>
__global__ void address_rows_kernel(Key const* keys, std::uint32_t rows, std::uint64_t min, std::uint32_t shift,
                                    std::uint32_t* heads, std::uint32_t* slots) {
  for (auto i = global_thread(); i < rows; i += grid_threads()) {
    auto const row = static_cast<std::uint32_t>(i);
    auto const slot = static_cast<std::uint32_t>((keys[row] - min) >> shift);
    if (row < read_word(&heads[slot])) atomicMin(&heads[slot], row);
    slots[row] = slot;
  }
}

__global__ void flag_heads_kernel(std::uint32_t const* table_heads, std::uint32_t const* slots, std::uint32_t rows,
                                  std::uint32_t* flags) {
  for (auto i = global_thread(); i <= rows; i += grid_threads())
    flags[i] = i < rows && table_heads[slots[i]] == i ? 1 : 0;
}

__global__ void number_rows_kernel(std::uint32_t const* table_heads, std::uint32_t const* slots,
                                   std::uint32_t const* numbers, std::uint32_t rows, std::uint32_t* ids,
                                   std::uint32_t* heads) {
  for (auto i = global_thread(); i < rows; i += grid_threads()) {
    auto const head = table_heads[slots[i]];
    ids[i] = numbers[head];
    if (head == i) heads[numbers[i]] = head;
  }
}

using Word = unsigned long long;

__device__ void add(std::uint64_t* target, std::uint64_t value) {
  if (value != 0) atomicAdd(reinterpret_cast<Word*>(target), static_cast<Word>(value));
}
__device__ void keep_least(std::uint64_t* target, std::uint64_t value) {
  if (value < *static_cast<std::uint64_t volatile*>(target))
    atomicMin(reinterpret_cast<Word*>(target), static_cast<Word>(value));
}
__device__ void keep_greatest(std::uint64_t* target, std::uint64_t value) {
  if (value > *static_cast<std::uint64_t volatile*>(target))
    atomicMax(reinterpret_cast<Word*>(target), static_cast<Word>(value));
}

__device__ bool is_valid(GroupedValues const& values, std::uint32_t row) {
  return values.validity == nullptr || (values.validity[row / 32] >> (row % 32) & 1U) != 0;
}
__device__ std::uint32_t group_of(GroupedValues const& values, std::uint32_t row) {
  return values.ids == nullptr ? 0 : values.ids[row];
}

constexpr bool is_float(GarudaCudaValueKind kind) { return kind == GARUDA_CUDA_FLOAT32 || kind == GARUDA_CUDA_FLOAT64; }
constexpr int words_of(GarudaCudaValueKind kind) {
  return kind == GARUDA_CUDA_NONE                                                                 ? 0
         : kind == GARUDA_CUDA_INT32 || kind == GARUDA_CUDA_UINT32 || kind == GARUDA_CUDA_FLOAT32 ? 1
         : kind == GARUDA_CUDA_INT128                                                             ? 4
                                                                                                  : 2;
}
constexpr int limbs_of(GarudaCudaValueKind kind) { return is_float(kind) ? 0 : words_of(kind); }
constexpr bool is_signed(GarudaCudaValueKind kind) {
  return kind == GARUDA_CUDA_INT32 || kind == GARUDA_CUDA_INT64 || kind == GARUDA_CUDA_INT128;
}

/// The limbs of a value as terms of the sums: the top one with its sign.
template <GarudaCudaValueKind kKind>
__device__ std::uint64_t limb_of(std::uint32_t const* value, int limb) {
  if (is_signed(kKind) && limb + 1 == limbs_of(kKind))
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(value[limb])));
  return value[limb];
}

/// core/ordered_value.hpp on the device; of 128-bit values the high word.
template <GarudaCudaValueKind kKind>
__device__ std::uint64_t ordered(std::uint32_t const* value) {
  constexpr std::uint64_t kSign64 = std::uint64_t{1} << 63;
  if constexpr (kKind == GARUDA_CUDA_INT32) {
    return value[0] ^ 0x8000'0000U;
  } else if constexpr (kKind == GARUDA_CUDA_UINT32) {
    return value[0];
  } else if constexpr (kKind == GARUDA_CUDA_FLOAT32) {
    auto bits = value[0];
    if ((bits & 0x7fff'ffffU) > 0x7f80'0000U) bits = 0x7fc0'0000U;
    if ((bits & 0x7fff'ffffU) == 0) bits = 0;
    return bits >> 31 != 0 ? ~bits : bits | 0x8000'0000U;
  } else if constexpr (kKind == GARUDA_CUDA_FLOAT64) {
    auto bits = std::uint64_t{value[1]} << 32 | value[0];
    if ((bits & ~kSign64) > 0x7ff0'0000'0000'0000ULL) bits = 0x7ff8'0000'0000'0000ULL;
    if ((bits & ~kSign64) == 0) bits = 0;
    return bits >> 63 != 0 ? ~bits : bits | kSign64;
  } else {
    constexpr int kHigh = kKind == GARUDA_CUDA_INT128 ? 2 : 0;
    auto const bits = std::uint64_t{value[kHigh + 1]} << 32 | value[kHigh];
    return is_signed(kKind) ? bits ^ kSign64 : bits;
  }
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

template <GarudaCudaValueKind kKind>
cudaError_t accumulate_kind(Launch const& launch, GroupedValues const& values, AccumulatorLayout const& layout,
                            std::uint64_t* accumulators) {
  auto const words = std::uint64_t{values.groups} * static_cast<unsigned>(layout.words);
  if (words > kSharedWords || words * kThreads > values.rows * std::uint64_t{2} + kThreads) {
    GARUDA_LAUNCH(accumulate_kernel<kKind>, values.rows)(values, layout, accumulators);
    return cudaGetLastError();
  }
  auto const fitting = kSharedWords / static_cast<std::uint32_t>(words);
  auto const copies = fitting < kMostCopies ? fitting : kMostCopies;
  auto const needed = (values.rows + kThreads - 1) / kThreads;
  auto const most = launch.multiprocessors * kSharedBlocksEach;
  auto* const kernel = accumulate_shared_kernel<kKind>;
  auto const blocks = needed < most ? needed : most;
  kernel<<<blocks, kThreads, words * copies * sizeof(std::uint64_t), launch.stream>>>(values, layout, copies,
                                                                                      accumulators);
  return cudaGetLastError();
}

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

__device__ void write_wide(std::uint64_t* words, __int128 value) {
  words[0] = static_cast<std::uint64_t>(value);
  words[1] = static_cast<std::uint64_t>(value >> 64);
}

/// Sums of low limbs are below 2^56, of the top one as signed as the kind.
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

__global__ void combine_extremes_kernel(std::uint64_t const* high, std::uint64_t const* low, std::uint32_t groups,
                                        std::uint64_t* extremes) {
  for (auto g = global_thread(); g < groups; g += grid_threads()) {
    extremes[2 * g] = low[g];
    extremes[2 * g + 1] = high[g];
  }
}

/// A float as sign, magnitude and position of its lowest bit; operators/float_parts.hpp on the device.
struct FloatParts {
  std::uint64_t magnitude = 0;
  std::uint32_t position = 0;
  bool negative = false;
  std::uint32_t special = 0;  ///< flag of FloatSums, 0: finite
};

template <GarudaCudaValueKind kKind>
__device__ FloatParts float_parts(std::uint32_t const* value) {
  constexpr bool kWide = kKind == GARUDA_CUDA_FLOAT64;
  constexpr int kMantissaBits = kWide ? 52 : 23;
  constexpr std::uint32_t kTopExponent = kWide ? 2047 : 255;
  auto const bits = kWide ? std::uint64_t{value[kWide ? 1 : 0]} << 32 | value[0] : value[0];
  FloatParts parts;
  parts.negative = bits >> (kWide ? 63 : 31) != 0;
  auto const exponent = static_cast<std::uint32_t>(bits >> kMantissaBits) & kTopExponent;
  auto const mantissa = bits & ((std::uint64_t{1} << kMantissaBits) - 1);
  if (exponent == kTopExponent) {
    parts.special = mantissa != 0 ? 1 : parts.negative ? 4 : 2;
    return parts;
  }
  parts.magnitude = exponent == 0 ? mantissa : mantissa | std::uint64_t{1} << kMantissaBits;
  parts.position = exponent == 0 ? 0 : exponent - 1;
  return parts;
}

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

template <GarudaCudaValueKind kKind>
__global__ void find_spans_kernel(GroupedValues values, FloatSpans spans) {
  for (auto i = global_thread(); i < values.rows; i += grid_threads()) {
    auto const row = static_cast<std::uint32_t>(i);
    if (!is_valid(values, row)) continue;
    auto const group = group_of(values, row);
    auto const parts = float_parts<kKind>(values.values + i * words_of(kKind));
    if (parts.special != 0) {
      if ((read_word(&spans.flags[group]) & parts.special) == 0) atomicOr(&spans.flags[group], parts.special);
    } else if (parts.magnitude != 0) {
      auto const terms = window_terms(parts);
      auto const lowest = terms.low != 0 ? terms.window : terms.window + 1;
      auto const above = terms.high != 0 ? terms.window + 2 : terms.window + 1;
      if (lowest < read_word(&spans.lowest[group])) atomicMin(&spans.lowest[group], lowest);
      if (above > read_word(&spans.above[group])) atomicMax(&spans.above[group], above);
    }
  }
}

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
  auto const parts = float_parts<kKind>(values.values + std::uint64_t{row} * words_of(kKind));
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

template <GarudaCudaValueKind kKind>
cudaError_t accumulate_windows_kind(Launch const& launch, GroupedValues const& values, FloatSpans const& spans,
                                    std::uint64_t const* offsets, std::uint64_t num_windows, std::uint64_t* halves) {
  auto const words = 2 * num_windows;
  if (words > kSharedWords || words * kThreads > values.rows * std::uint64_t{2} + kThreads) {
    GARUDA_LAUNCH(accumulate_windows_kernel<kKind>, values.rows)(values, spans, offsets, halves);
    return cudaGetLastError();
  }
  auto const fitting = kSharedWords / static_cast<std::uint32_t>(words);
  auto const copies = fitting < kMostCopies ? fitting : kMostCopies;
  auto const needed = (values.rows + kThreads - 1) / kThreads;
  auto const most = launch.multiprocessors * kSharedBlocksEach;
  auto* const kernel = accumulate_windows_shared_kernel<kKind>;
  auto const blocks = needed < most ? needed : most;
  kernel<<<blocks, kThreads, words * copies * sizeof(std::uint64_t), launch.stream>>>(
      values, spans, offsets, static_cast<std::uint32_t>(words), copies, halves);
  return cudaGetLastError();
}

__global__ void combine_windows_kernel(std::uint64_t* windows, std::uint64_t num_windows) {
  for (auto w = global_thread(); w < num_windows; w += grid_threads()) {
    auto const low = static_cast<__int128>(static_cast<std::int64_t>(windows[2 * w]));
    auto const high = static_cast<__int128>(static_cast<std::int64_t>(windows[2 * w + 1]));
    write_wide(windows + 2 * w, low + high * (static_cast<__int128>(1) << 32));
  }
}

}  // namespace

int sum_limbs(GarudaCudaValueKind kind) { return limbs_of(kind); }

cudaError_t hash_rows(Launch const& launch, GroupKeys const& keys, GroupTable const& table, std::uint32_t* slots) {
  if (keys.bits == 32) {
    PackedKeys<std::uint32_t> const packed{static_cast<std::uint32_t const*>(keys.data)};
    GARUDA_LAUNCH(hash_rows_kernel, keys.rows)(packed, keys.rows, table, slots);
  } else if (keys.bits == 64) {
    PackedKeys<std::uint64_t> const packed{static_cast<std::uint64_t const*>(keys.data)};
    GARUDA_LAUNCH(hash_rows_kernel, keys.rows)(packed, keys.rows, table, slots);
  } else {
    WordKeys const words{static_cast<std::uint32_t const*>(keys.data), keys.rows, keys.num_words};
    GARUDA_LAUNCH(hash_rows_kernel, keys.rows)(words, keys.rows, table, slots);
  }
  return cudaGetLastError();
}

cudaError_t address_rows(Launch const& launch, GroupKeys const& keys, std::uint64_t min, std::uint32_t shift,
                         GroupTable const& table, std::uint32_t* slots) {
  if (keys.bits == 32) {
    GARUDA_LAUNCH(address_rows_kernel, keys.rows)
    (static_cast<std::uint32_t const*>(keys.data), keys.rows, min, shift, table.heads, slots);
  } else {
    GARUDA_LAUNCH(address_rows_kernel, keys.rows)
    (static_cast<std::uint64_t const*>(keys.data), keys.rows, min, shift, table.heads, slots);
  }
  return cudaGetLastError();
}

cudaError_t flag_heads(Launch const& launch, GroupTable const& table, std::uint32_t const* slots, std::uint32_t rows,
                       std::uint32_t* flags) {
  GARUDA_LAUNCH(flag_heads_kernel, rows + 1ULL)(table.heads, slots, rows, flags);
  return cudaGetLastError();
}

cudaError_t number_rows(Launch const& launch, GroupTable const& table, std::uint32_t const* slots,
                        std::uint32_t const* numbers, std::uint32_t rows, std::uint32_t* ids, std::uint32_t* heads) {
  GARUDA_LAUNCH(number_rows_kernel, rows)(table.heads, slots, numbers, rows, ids, heads);
  return cudaGetLastError();
}

cudaError_t accumulate(Launch const& launch, GroupedValues const& values, AccumulatorLayout const& layout,
                       std::uint64_t* accumulators) {
#define GARUDA_KIND(kind) \
  case kind:              \
    return accumulate_kind<kind>(launch, values, layout, accumulators)
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
  return cudaErrorInvalidValue;
}

cudaError_t accumulate_low_words(Launch const& launch, GroupedValues const& values, std::uint64_t const* min_high,
                                 std::uint64_t* min_low, std::uint64_t const* max_high, std::uint64_t* max_low) {
  GARUDA_LAUNCH(accumulate_low_words_kernel, values.rows)(values, min_high, min_low, max_high, max_low);
  return cudaGetLastError();
}

cudaError_t combine_limbs(Launch const& launch, std::uint64_t const* limbs, GarudaCudaValueKind kind,
                          std::uint32_t groups, std::uint64_t* sums) {
  GARUDA_LAUNCH(combine_limbs_kernel, groups)(limbs, limbs_of(kind), is_signed(kind), groups, sums);
  return cudaGetLastError();
}

cudaError_t combine_extremes(Launch const& launch, std::uint64_t const* high, std::uint64_t const* low,
                             std::uint32_t groups, std::uint64_t* extremes) {
  GARUDA_LAUNCH(combine_extremes_kernel, groups)(high, low, groups, extremes);
  return cudaGetLastError();
}

cudaError_t find_spans(Launch const& launch, GroupedValues const& values, FloatSpans const& spans) {
  if (values.kind == GARUDA_CUDA_FLOAT32) {
    GARUDA_LAUNCH(find_spans_kernel<GARUDA_CUDA_FLOAT32>, values.rows)(values, spans);
  } else {
    GARUDA_LAUNCH(find_spans_kernel<GARUDA_CUDA_FLOAT64>, values.rows)(values, spans);
  }
  return cudaGetLastError();
}

cudaError_t count_windows(Launch const& launch, FloatSpans const& spans, std::uint32_t groups, std::uint32_t* counts,
                          std::uint8_t* first_windows, std::uint8_t* flags) {
  GARUDA_LAUNCH(count_windows_kernel, groups + 1ULL)(spans, groups, counts, first_windows, flags);
  return cudaGetLastError();
}

cudaError_t accumulate_windows(Launch const& launch, GroupedValues const& values, FloatSpans const& spans,
                               std::uint64_t const* offsets, std::uint64_t num_windows, std::uint64_t* halves) {
  return values.kind == GARUDA_CUDA_FLOAT32
             ? accumulate_windows_kind<GARUDA_CUDA_FLOAT32>(launch, values, spans, offsets, num_windows, halves)
             : accumulate_windows_kind<GARUDA_CUDA_FLOAT64>(launch, values, spans, offsets, num_windows, halves);
}

cudaError_t combine_windows(Launch const& launch, std::uint64_t* windows, std::uint64_t num_windows) {
  GARUDA_LAUNCH(combine_windows_kernel, num_windows)(windows, num_windows);
  return cudaGetLastError();
}

}  // namespace garuda::cuda
