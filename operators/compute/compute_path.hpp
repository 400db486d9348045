// The compute path: Vulkan compute passes.
#pragma once

#include "operators/path_row.hpp"

namespace garuda::operators {

extern PathRow const kComputePath;

}  // namespace garuda::operators
