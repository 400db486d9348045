// The CPU path's groups that grow while rows come: a table of groups a lane, merged at the end.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "garuda/error.hpp"
#include "operators/contract/group_by_kernel.hpp"

namespace garuda::cpu {

/// Opens groups without rows. `requests`: a state column each. Errors: out_of_memory.
Result<std::unique_ptr<contract::GrowingGroups>> open_cpu_growing_groups(
    std::span<contract::StateRequest const> requests, std::size_t lanes);

}  // namespace garuda::cpu
