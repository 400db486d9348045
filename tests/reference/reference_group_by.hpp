// The oracle of the group-by: slow and obvious, from the text of cells, sums by integers of any size.
#pragma once

#include <stdexcept>
#include <string>

#include "garuda/group_by.hpp"
#include "garuda/table.hpp"
#include "tests/reference/reference_join.hpp"

namespace garuda::reference {

/// A sum that its type cannot hold.
class SumOverflow : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The groups that `spec` describes, in the order of their first rows. Columns: keys, then aggregates.
/// Throws SumOverflow, and std::runtime_error for what the oracle does not know.
TextTable reference_group_by(TableView table, GroupBySpec const& spec);
/// Groups rows that read_table gave of a table of that schema.
TextTable reference_group_by(Schema const& schema, TextTable const& cells, GroupBySpec const& spec);

}  // namespace garuda::reference
