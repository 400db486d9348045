// Group-bys that are taken apart into those of blocks of rows and that of the groups of blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/types.hpp"
#include "operators/resolve/group_by_columns.hpp"

namespace garuda::resolve {

/// The specifications of a group-by in two steps. Groups of a block have the keys, then the columns of `states`.
struct PartialSpec {
  /// A copy of the column at `position` of the rows with a null wherever that at `by` has one.
  struct MaskedColumn {
    std::size_t position = 0;
    std::size_t by = 0;
    std::string name;
  };
  /// A column of the groups of a block, behind the keys.
  struct State {
    bool is_exact = false;      ///< The column has exact states, which merge_states() merges, not `merged`.
    std::size_t aggregate = 0;  ///< The aggregate that the column is of.
    bool is_result = false;     ///< The column, once it is finished, is the aggregate's value.
  };

  GroupBySpec block;                        ///< for rows of a block, which have the masked columns, too
  GroupBySpec merged;                       ///< for groups of blocks, whose numbers stand in the column `number`
  std::vector<State> states;                ///< in the order of the aggregates of `block`
  std::vector<MaskedColumn> masked;         ///< none where the rows have all columns that blocks read
  std::vector<std::size_t> unmergeable;     ///< aggregates that keep all values of a group, which have no state
  std::vector<ResolvedAggregate> resolved;  ///< of the group-by as it was asked for
  std::string number;                       ///< a name that no other column has

  /// Positions, among the columns of groups of blocks, of exact states.
  std::vector<std::size_t> exact_columns() const;
};

/// `rows`: columns of the table, which has `most_rows` or fewer. Errors: those of resolve_group_by.
Result<PartialSpec> take_apart(Schema const& rows, GroupBySpec const& spec, std::uint64_t most_rows);

}  // namespace garuda::resolve
