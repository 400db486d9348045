// Counts of values by their low bits: GARUDA's §6.2 experiment.
#pragma once

#include "cuda_backend/lane.hpp"
#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

/// Clears the counts, then counts under the phase "count". Blocks. Errors: usage for numbers out of range;
/// device_failure, out_of_memory, cancelled.
Result<void> count_bins(Lane& lane, GarudaCudaHistogram const& histogram);

}  // namespace garuda::cuda_backend
