// The error of a sum that leaves its type, which every path gives in the same words.
#pragma once

#include <optional>

#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/resolve/group_by_columns.hpp"

namespace garuda::resolve {

/// invalid_input, with the aggregate, its type and the group's keys. `keys`: the group's row of key columns; nullopt:
/// the group is that of all rows.
Error sum_overflow(ResolvedAggregate const& aggregate, std::optional<TableView> keys);

}  // namespace garuda::resolve
