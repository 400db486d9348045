// How many rows a join has, about: from a sample, before the join is begun.
#pragma once

#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/primitives/radix_side.hpp"

namespace garuda::compute {

/// Pairs of equal keys between two sides on the device, about: matches of a sample of 4096 probe rows among all build
/// rows, in proportion. Waits. Cost: reads the build keys once, with a look-up in a table of the sample for each. Keys
/// of the same width; no payload is read. Errors: limit_exceeded, out_of_memory, device_failure, cancelled.
Result<double> estimate_matches(ComputeContext& context, DeviceRows const& build, DeviceRows const& probe);

}  // namespace garuda::compute
