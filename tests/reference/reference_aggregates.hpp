// The oracle of aggregates beyond count, sum, min, max and mean.
#pragma once

#include <cstddef>
#include <vector>

#include "garuda/group_by.hpp"
#include "tests/reference/reference_join.hpp"

namespace garuda::reference {

/// The value of `aggregate` of the columns `column` and `second` over `rows` of `cells`, a list as "[a;b;]". Throws
/// SumOverflow, and std::runtime_error for what the oracle does not know.
Cell further_cell(Aggregate const& aggregate, Schema const& schema, TextTable const& cells,
                  std::vector<std::size_t> const& rows, std::size_t column, std::size_t second);

}  // namespace garuda::reference
