// The compute path: Vulkan compute passes.
#pragma once

#include "operators/contract/path_row.hpp"

namespace garuda::placement {

extern contract::PathRow const kComputePath;

}  // namespace garuda::placement
