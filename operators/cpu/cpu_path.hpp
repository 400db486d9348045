// The CPU path: oneTBB.
#pragma once

#include "operators/contract/offers/path_row.hpp"

namespace garuda::cpu {

extern contract::PathRow const kCpuPath;

}  // namespace garuda::cpu
