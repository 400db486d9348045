// Kernels of the group-by of one slice. Launch functions return what CUDA says of the launch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda_backend/join_kernels.hpp"
#include "cuda_backend/plugin.h"

namespace garuda::cuda_backend {

/// Keys of rows on the device: `bits` 32 or 64, or 0 for `num_words` columns of `rows` words behind one another.
struct GroupKeys {
  void const* data = nullptr;
  std::uint32_t rows = 0;
  std::uint32_t bits = 0;
  std::uint32_t num_words = 0;
};

/// A slot a group, which holds its lowest row in the end; kNoRow: free.
struct GroupTable {
  std::uint32_t* heads = nullptr;
  std::uint32_t log2_slots = 0;  ///< of a hashed table
  std::uint32_t max_groups = 0;  ///< of a hashed table: more set `overflow`
  std::uint32_t* inserted = nullptr;
  std::uint32_t* overflow = nullptr;
};

/// Finds the slot of each row, by hash.
cudaError_t hash_rows(Launch const& launch, GroupKeys const& keys, GroupTable const& table, std::uint32_t* slots);
/// The slot of a row is (key - min) >> shift.
cudaError_t address_rows(Launch const& launch, GroupKeys const& keys, std::uint64_t min, std::uint32_t shift,
                         GroupTable const& table, std::uint32_t* slots);

/// positions[i] = i.
cudaError_t number_positions(Launch const& launch, std::uint32_t rows, std::uint32_t* positions);
/// flags: rows + 1, 1 where the row at a position of `order` (null: the positions themselves) differs from the one
/// before it; the last is 0.
cudaError_t flag_runs(Launch const& launch, GroupKeys const& keys, std::uint32_t const* order, std::uint32_t* flags);
/// The slot of a row is the number of its run, `numbers` the prefix sums of `flags`; a run's head is its first row, the
/// lowest in a stable order. heads: a slot, as GroupTable has them.
cudaError_t slots_of_flags(Launch const& launch, std::uint32_t const* flags, std::uint32_t const* numbers,
                           std::uint32_t const* order, std::uint32_t rows, std::uint32_t* slots, std::uint32_t* heads);
/// The slot of a row is where its run begins in `order`; a run's rows come in any order. heads: kNoRow before.
cudaError_t slots_of_runs(Launch const& launch, std::uint32_t const* runs, std::uint32_t const* order,
                          std::uint32_t rows, std::uint32_t* slots, std::uint32_t* heads);

/// flags: rows + 1, 1 for the head of a group; the last is 0.
cudaError_t flag_heads(Launch const& launch, GroupTable const& table, std::uint32_t const* slots, std::uint32_t rows,
                       std::uint32_t* flags);
/// numbers: prefix sums of the flags. Writes the group of each row, and each group's head.
cudaError_t number_rows(Launch const& launch, GroupTable const& table, std::uint32_t const* slots,
                        std::uint32_t const* numbers, std::uint32_t rows, std::uint32_t* ids, std::uint32_t* heads);

/// Values of rows and the groups they belong to, on the device.
struct GroupedValues {
  std::uint32_t const* ids = nullptr;  ///< null: one group
  std::uint32_t const* values = nullptr;
  std::uint32_t const* validity = nullptr;  ///< null: all valid
  std::uint32_t rows = 0;
  std::uint32_t groups = 1;
  GarudaCudaValueKind kind = GARUDA_CUDA_NONE;
};

/// Which u64 arrays of `groups` words accumulate what: index of the first, -1: not wanted. Integer sums are kept as
/// sums of 32-bit limbs, which 2^24 rows cannot overflow; `limbs` of them, one for 32-bit kinds, the top one signed as
/// the kind is. 128-bit extremes take their high words here.
struct AccumulatorLayout {
  int count = -1;
  int sum = -1;
  int limbs = 0;
  int min = -1;
  int max = -1;
  int words = 0;
};

/// 32-bit limbs of the sums of integers of `kind`; 0: floats, none.
int sum_limbs(GarudaCudaValueKind kind);

/// Accumulates into words × groups words, initialised: counts, sums and maxima 0, minima all ones.
cudaError_t accumulate(Launch const& launch, GroupedValues const& values, AccumulatorLayout const& layout,
                       std::uint64_t* accumulators);
/// Low words of 128-bit extremes, of the rows whose high word is their group's. minima: all ones before; either null.
cudaError_t accumulate_low_words(Launch const& launch, GroupedValues const& values, std::uint64_t const* min_high,
                                 std::uint64_t* min_low, std::uint64_t const* max_high, std::uint64_t* max_low);
/// limbs × groups words to 2 words a group, of 128-bit kinds 4.
cudaError_t combine_limbs(Launch const& launch, std::uint64_t const* limbs, GarudaCudaValueKind kind,
                          std::uint32_t groups, std::uint64_t* sums);
/// high and low × groups words to 2 words a group.
cudaError_t combine_extremes(Launch const& launch, std::uint64_t const* high, std::uint64_t const* low,
                             std::uint32_t groups, std::uint64_t* extremes);

/// Bits that the floats of a column have, as positions above the least subnormal's.
struct FloatRange {
  std::uint32_t lowest = 0xffff'ffffU;  ///< of any value
  std::uint32_t above = 0;              ///< one past the highest; 0: all are zero
  std::uint32_t flags = 0;              ///< as core/float_parts.hpp has them
};
/// Widens `range` by what `rows` floats of `kind` have.
cudaError_t find_range(Launch const& launch, void const* values, GarudaCudaValueKind kind, std::uint32_t rows,
                       FloatRange* range);

/// What the floats of a group touch, an array of groups each. lowest: all ones before, the others 0.
struct FloatSpans {
  std::uint32_t* flags = nullptr;   ///< as core/float_parts.hpp has them
  std::uint32_t* lowest = nullptr;  ///< window
  std::uint32_t* above = nullptr;   ///< one past the highest window; 0: none
};
cudaError_t find_spans(Launch const& launch, GroupedValues const& values, FloatSpans const& spans);
/// counts: groups + 1, the last 0. first_windows and flag bytes are final.
cudaError_t count_windows(Launch const& launch, FloatSpans const& spans, std::uint32_t groups, std::uint32_t* counts,
                          std::uint8_t* first_windows, std::uint8_t* flags);
/// Adds into 2 words a window, 0 before: sums of low and of high halves.
cudaError_t accumulate_windows(Launch const& launch, GroupedValues const& values, FloatSpans const& spans,
                               std::uint64_t const* offsets, std::uint64_t num_windows, std::uint64_t* halves);
/// Halves to 128-bit sums, in place.
cudaError_t combine_windows(Launch const& launch, std::uint64_t* windows, std::uint64_t num_windows);

}  // namespace garuda::cuda_backend
