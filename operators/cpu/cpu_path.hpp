// The CPU path: oneTBB.
#pragma once

#include "operators/path_row.hpp"

namespace garuda::operators {

extern PathRow const kCpuPath;

}  // namespace garuda::operators
