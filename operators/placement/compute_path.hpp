// The compute path: Vulkan compute passes.
#pragma once

#include "operators/contract/offers/path_row.hpp"

namespace garuda::placement {

extern contract::PathRow const kComputePath;

}  // namespace garuda::placement
