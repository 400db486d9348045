// Exact states of numbered groups, a column at a time, and what floats have before they are summed.
#pragma once

#include <cstdint>

#include "cuda_backend/group_by/groups.hpp"
#include "cuda_backend/lane.hpp"
#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

/// The states of all groups on the device, as GarudaCudaStates describes them; those not asked for are empty.
struct NumberedStates {
  Buffer counts;
  Buffer sums;
  Buffer minima;
  Buffer maxima;
  Buffer flags;
  Buffer windows;
  std::uint32_t first_window = 0;
  std::uint32_t num_windows = 0;

  GarudaCudaStates view() const;
};

/// Computes the states of a column that lies on the device. Waits for the lane where floats are summed.
/// Errors: limit_exceeded, out_of_memory, device_failure, cancelled; likewise find_range().
Result<NumberedStates> accumulate(Lane& lane, Groups const& groups, GarudaCudaAggregate const& column);

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
