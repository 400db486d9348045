// The CPU path: oneTBB.
#pragma once

#include "operators/contract/path_row.hpp"

namespace garuda::cpu {

extern contract::PathRow const kCpuPath;

}  // namespace garuda::cpu
