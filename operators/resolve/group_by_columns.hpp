// A group-by's columns: its keys, what is computed of which column, and the columns of the result.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/table.hpp"
#include "operators/resolve/aggregates.hpp"

namespace garuda::resolve {

/// Partial states that kernels compute of one column, for all aggregates that need any of them.
struct StateColumn {
  std::optional<std::size_t> column;                     ///< position in the table; nullopt: the rows
  contract::ValueKind kind = contract::ValueKind::none;  ///< none: only counts are wanted
  contract::StateSet states = 0;
  keys::ColumnOrder const* order = nullptr;  ///< of bytes, once their values are read
};

struct ResolvedAggregate {
  AggregateRow const* row = nullptr;
  std::size_t state = 0;  ///< position among the state columns
  DataType input;
  DataType result;
  std::string name;
};

/// A GroupBySpec resolved against a table.
struct ResolvedGroupBy {
  std::vector<std::size_t> keys;
  std::vector<StateColumn> states;  ///< each column at most once
  std::vector<ResolvedAggregate> aggregates;
};

/// Resolves names and types. Counts are added to the states of columns with nulls, to tell groups without values.
/// Errors: invalid_input (unknown or ambiguous column, a type that the function does not take), usage (an aggregate
/// without a column that needs one, two result columns of one name, neither keys nor aggregates).
Result<ResolvedGroupBy> resolve_group_by(TableView table, GroupBySpec const& spec);

}  // namespace garuda::resolve
