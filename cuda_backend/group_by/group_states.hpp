// Exact states of groups: counts, sums and extremes of one column of rows whose groups are numbered.
#pragma once

#include <cstdint>

#include "cuda_backend/lane.hpp"
#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

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

/// The states of all groups, on the device.
struct GroupStates {
  GarudaCudaValueKind kind = GARUDA_CUDA_NONE;
  std::uint32_t groups = 1;
  AccumulatorLayout layout;
  std::uint64_t num_windows = 0;
  Buffer accumulators;
  Buffer sums;    ///< integers: 2 words a group, of 128-bit kinds 4
  Buffer minima;  ///< 128-bit kinds: 2 words a group
  Buffer maxima;
  Buffer flags;  ///< floats: as GarudaCudaStates has them
  Buffer first_windows;
  Buffer offsets;
  Buffer windows;

  /// An array of the accumulators; null for -1.
  std::uint64_t* accumulator(int which) const noexcept {
    return which < 0 ? nullptr
                     : accumulators.as<std::uint64_t>() + std::uint64_t{groups} * static_cast<unsigned>(which);
  }
};

/// Accumulates `states`, bits as GARUDA_CUDA_COUNT. Waits for the lane where floats are summed.
/// Errors: limit_exceeded, out_of_memory, device_failure, cancelled; of find_range() too.
Result<GroupStates> accumulate(Lane& lane, GroupedValues const& values, std::uint32_t states);

/// Sums floats by windows into `states`. Part of accumulate().
Result<void> sum_floats(Lane& lane, GroupedValues const& values, GroupStates& states);

/// Bits that the floats of a column have, as positions above the least subnormal's.
struct FloatRange {
  std::uint32_t lowest = 0xffff'ffffU;  ///< of any value
  std::uint32_t above = 0;              ///< one past the highest; 0: all are zero
  std::uint32_t flags = 0;              ///< as core/numbers/float_parts.hpp has them
};
/// Widens `range`, on the device, by what `rows` floats of `kind` have.
Result<void> find_range(Lane& lane, void const* values, GarudaCudaValueKind kind, std::uint32_t rows,
                        FloatRange* range);

}  // namespace garuda::cuda_backend
