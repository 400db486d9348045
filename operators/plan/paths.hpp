// The paths that a query may run on.
#pragma once

#include <span>

#include "garuda/run.hpp"
#include "operators/contract/offers/path_row.hpp"

namespace garuda::plan {

/// All paths, those of this library first.
std::span<contract::PathRow const* const> paths() noexcept;

/// Adds a path of the program's own, which outlives every engine. Not safe while engines are used. Requires: no other
/// row has its value or its name.
void add_path(contract::PathRow const& row);

/// The row of `path`, or nullptr when it is not built in.
contract::PathRow const* find_path(Path path) noexcept;

}  // namespace garuda::plan
