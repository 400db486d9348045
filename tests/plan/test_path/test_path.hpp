// A path made of test code only: joins by comparing every row with every other, on the host.
#pragma once

#include "operators/contract/offers/path_row.hpp"

namespace garuda::testing {

inline constexpr Path kNestedLoops = static_cast<Path>(200);

/// Nanoseconds that it says a pair of rows takes.
extern double nested_loops_pair_ns;

extern contract::PathRow const kNestedLoopsPath;

}  // namespace garuda::testing
