// Groups of some of a table's rows with the states of their aggregates, as rows of a table: how they are made, merged
// and finished.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/table.hpp"
#include "operators/contract/device_set.hpp"
#include "operators/resolve/partial_spec.hpp"

namespace garuda::group_by {

/// A group-by taken apart: blocks of rows are grouped by `spec()`, which leaves exact states where values do not merge;
/// the tables of such partial groups are put behind one another, merged and finished. Groups that are merged, or merged
/// and finished, are those of all rows, rounded once.
class PartialGroups {
 public:
  /// `rows`: columns of the table, which has `most_rows` or fewer. Errors: those of resolve_group_by.
  static Result<PartialGroups> create(Schema const& rows, GroupBySpec spec, std::uint64_t most_rows);

  /// Whether states merge: no aggregate keeps all values of a group, or needs rows of two columns.
  bool can_merge() const noexcept { return taken_.unmergeable.empty() && taken_.masked.empty(); }

  /// The specification for a block of rows.
  GroupBySpec const& spec() const noexcept { return taken_.block; }

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
  Result<Table> merged_states(TableView groups, TableView merged, Control const& control) const;
  Result<Table> values_of(TableView groups, std::size_t batch, Control const& control) const;

  GroupBySpec spec_;
  Schema rows_;
  resolve::PartialSpec taken_;
};

}  // namespace garuda::group_by
