// Groups of some of a table's rows with the states of their aggregates, as rows of a table: how they are made, merged
// and finished.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "io/arrow_bridge.hpp"
#include "operators/resolve/partial_spec.hpp"
#include "spill/part_runs.hpp"

namespace garuda::spill {

/// Groups `rows`, whose dictionaries may differ, by `spec`. Requires: a batch at least. `runs` takes plan and
/// statistics. Errors: those of Engine::group_by.
Result<io::ArrowBatches> group_rows(Engine& engine, io::ArrowBatches rows, GroupBySpec const& spec,
                                    GroupByOptions const& options, PartRuns& runs);

/// A group-by taken apart: blocks of rows are grouped by `spec()`, which leaves exact states where values do not merge;
/// such partial groups are merged any number of times, and finished. The engine groups blocks and partial groups alike,
/// so that keys of every type are compared in one place.
class PartialGroups {
 public:
  /// `rows`: schema of the table, which has `most_rows` or fewer. Errors: those of resolve_group_by.
  static Result<PartialGroups> create(std::shared_ptr<arrow::Schema> rows, GroupBySpec const& spec,
                                      std::uint64_t most_rows);

  /// Positions of aggregates whose state is all values of a group: they are left out here.
  std::vector<std::size_t> const& unmergeable() const noexcept { return taken_.unmergeable; }
  /// The aggregate as it was asked for, with the name of its column.
  Aggregate aggregate(std::size_t position) const;

  /// The specification for a block of rows.
  GroupBySpec const& spec() const noexcept { return taken_.block; }

  /// Makes a table of rows of `rows`, with the columns that `spec()` wants beside them. Errors: those of io::to_table.
  Result<Table> table_of(io::ArrowBatches rows) const;

  /// Groups a block of rows, a table of `table_of`, by `spec()`; `runs` takes plan and statistics. Errors: those of
  /// Engine::group_by.
  Result<io::ArrowBatches> group(Engine& engine, Table const& rows, GroupByOptions const& options,
                                 PartRuns& runs) const;

  /// Host memory that merging `groups` takes, with the groups themselves, bytes. Errors: those of io::to_table.
  Result<std::uint64_t> merge_weight(io::ArrowBatches const& groups) const;

  /// Brings partial groups of equal keys together: those before come first. Their rows keep the order of first
  /// appearance when the spec is ordered. `options`: of the engine's run; `on_run` is given its statistics.
  /// Errors: those of Engine::group_by; invalid_input for bytes that are no state.
  Result<io::ArrowBatches> merge(Engine& engine, io::ArrowBatches const& groups, GroupByOptions const& options,
                                 std::function<void(RunStats const&)> const& on_run) const;

  /// Makes the result's columns of merged groups, which are one batch where there are `unmergeable` aggregates:
  /// `values` has a column of each. Errors: invalid_input for a value beyond its type, naming the group.
  Result<Table> finish(io::ArrowBatches const& groups,
                       std::vector<std::shared_ptr<arrow::Array>> const& values = {}) const;

 private:
  PartialGroups(std::shared_ptr<arrow::Schema> rows, GroupBySpec spec)
      : rows_(std::move(rows)), spec_(std::move(spec)) {}

  Result<std::shared_ptr<arrow::RecordBatch>> states_of(arrow::RecordBatch const& groups) const;
  Result<std::shared_ptr<arrow::RecordBatch>> merged_states(arrow::RecordBatch const& groups,
                                                            io::ArrowBatches const& merged,
                                                            Control const& control) const;
  std::shared_ptr<arrow::RecordBatch> rebuilt(arrow::RecordBatch const& merged, arrow::RecordBatch const& states,
                                              arrow::Schema const& schema) const;
  Result<std::shared_ptr<arrow::RecordBatch>> values_of(arrow::RecordBatch const& groups) const;

  std::shared_ptr<arrow::Schema> rows_;
  GroupBySpec spec_;
  Schema row_schema_;  ///< of the table's rows
  resolve::PartialSpec taken_;
};

}  // namespace garuda::spill
