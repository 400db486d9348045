// Groups of some of a table's rows with the states of their aggregates, as rows of a table: how they are made, merged
// and finished.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/table.hpp"
#include "operators/contract/device_set.hpp"
#include "operators/resolve/group_by_columns.hpp"

namespace garuda::group_by {

/// A group-by taken apart: blocks of rows are grouped by `spec()`, which leaves exact states where values do not merge;
/// the tables of such partial groups are put behind one another, merged and finished. Groups that are merged, or merged
/// and finished, are those of all rows, rounded once.
class PartialGroups {
 public:
  /// `rows`: columns of the table, which has `most_rows` or fewer. Errors: those of resolve_group_by.
  static Result<PartialGroups> create(Schema const& rows, GroupBySpec spec, std::uint64_t most_rows);

  /// Whether states merge: no aggregate keeps all values of a group, or needs rows of two columns.
  bool can_merge() const noexcept { return can_merge_; }

  /// The specification for a block of rows.
  GroupBySpec const& spec() const noexcept { return partial_; }

  /// Host memory that merging `groups` takes beside them, bytes. Errors: those of resolve_group_by.
  Result<std::uint64_t> merge_weight(TableView groups) const;

  /// Brings partial groups of equal keys together: those before come first. The result has the columns that partial
  /// groups have. `devices` outlives the call. Blocks; runs in task arenas of its own. Errors: those of group_by and
  /// merge_states.
  Result<Table> merge(TableView groups, GroupByOptions const& options, contract::DeviceSet& devices) const;

  /// The result's columns of merged groups; a batch at least. Shares the columns that stay. Errors: invalid_input for a
  /// value beyond its type, naming the group.
  Result<Table> finish(TableView groups, Control const& control) const;

 private:
  /// A column of partial groups, behind the keys.
  struct StateColumn {
    bool has_states = false;    ///< exact states, which are merged here
    std::size_t aggregate = 0;  ///< whose it is
  };

  void take_apart(std::size_t aggregate, std::uint64_t most_rows);
  void add(Aggregate partial, std::optional<Aggregate> merged, StateColumn column);
  std::vector<std::size_t> state_columns() const;
  Result<Table> merged_states(TableView groups, TableView merged, Control const& control) const;
  Result<Table> values_of(TableView groups, std::size_t batch, Control const& control) const;

  GroupBySpec spec_;
  GroupBySpec partial_;
  GroupBySpec merged_;
  Schema rows_;
  std::vector<resolve::ResolvedAggregate> resolved_;
  std::vector<StateColumn> states_;
  std::string number_;  ///< column of partial groups' own numbers, while they are merged
  bool can_merge_ = true;
};

}  // namespace garuda::group_by
