// The CPU path of the group-by: a hash table a slice.
#pragma once

#include <memory>

#include "garuda/error.hpp"
#include "operators/contract/group_by_kernel.hpp"

namespace garuda::cpu {

/// Opens the CPU path. A kernel works on the thread that calls it; slices run in parallel on their lanes. Of the tuning
/// nothing applies. Phases reported: group, aggregate.
/// `options.control` and `options.stats` may be null.
Result<std::unique_ptr<contract::GroupByBackend>> open_cpu_group_by(contract::GroupByBackendOptions const& options);

}  // namespace garuda::cpu
