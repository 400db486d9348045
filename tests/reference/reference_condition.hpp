// The oracle of conditions on pairs of rows: one pair at a time, from the text of cells.
#pragma once

#include <optional>
#include <vector>

#include "garuda/condition.hpp"
#include "garuda/types.hpp"
#include "tests/reference/reference_join.hpp"

namespace garuda::reference {

/// One row of a table, as read_table has it.
struct RowText {
  Schema const& schema;
  std::vector<Cell> const& cells;
};

/// Whether the condition is true of two rows; nullopt: it is null. Numbers, dates and times are compared as decimals of
/// any size, floats as float64. Throws std::runtime_error for a column or constant that it does not know.
std::optional<bool> holds(Condition const& condition, RowText const& left, RowText const& right);

}  // namespace garuda::reference
