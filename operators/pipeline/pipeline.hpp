// Steps between two breakers of a query, fused: rows pass through them morsel by morsel, in a thread's cache.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "expr/program.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "garuda/table.hpp"
#include "operators/contract/device_set.hpp"
#include "operators/contract/stats_sink.hpp"
#include "operators/group_by/pipelined_groups.hpp"
#include "operators/materialize/spill_space.hpp"
#include "operators/pipeline/chunk.hpp"
#include "operators/pipeline/step.hpp"
#include "operators/pipeline/top_step.hpp"

namespace garuda::pipeline {

/// A column of a projection: one of the input as it is, or the values of an expression.
using ProjectedColumn = std::variant<std::size_t, expr::Expression>;

/// How a pipeline runs.
struct PipelineOptions {
  std::uint32_t threads = 0;             ///< of the arena that calls run(), for build sides; 0: as many as the host has
  std::size_t lanes = 1;                 ///< threads that the arena has at most
  std::uint64_t memory_limit_bytes = 0;  ///< of all build sides together; 0: none
  Control control{};
  contract::StatsSink* stats = nullptr;
  materialize::SpillSpace* space = nullptr;  ///< keeps the result's rows; nullptr: they are in memory
};

/// A join of the pipeline's rows with a table that is there.
struct Probe {
  TableView build;          ///< outlives the pipeline and its result
  Side side = Side::right;  ///< the build side
  JoinKind kind = JoinKind::inner;
  bool nulls_equal = false;
  std::vector<std::pair<std::size_t, std::size_t>> keys;  ///< columns of the left and of the right side
  std::vector<std::size_t> left_columns;                  ///< of the left side that the result has
  std::vector<std::size_t> right_columns;                 ///< behind them
  /// A condition of matches, over the columns of the left side, then those of the right one.
  std::optional<expr::Expression> where{};
};

/// Made step by step, then run once. Columns are found by position among those that the last step gives.
class Pipeline {
 public:
  /// Begins with the rows of a table of the host, which outlives the pipeline and its result.
  Pipeline(TableView source, PipelineOptions options);
  /// Begins with the rows of a table that it keeps.
  Pipeline(Table source, PipelineOptions options) : Pipeline(source.view(), std::move(options)) {
    keep(std::move(source));
  }
  Pipeline(Pipeline const&) = delete;
  Pipeline& operator=(Pipeline const&) = delete;

  /// Keeps a table as long as the pipeline.
  TableView keep(Table table);

  /// Keeps rows for which a boolean expression is true. Errors: those of expr::compile.
  Result<void> filter(expr::Expression predicate);
  /// Errors: as above.
  Result<void> project(std::span<ProjectedColumn const> columns);
  /// Joins. Errors: those of JoinBuildState::side_for, after which the pipeline is as it was: limit_exceeded where
  /// build sides do not fit the memory limit; those of ProbeStep::create.
  Result<void> probe(Probe const& probe, contract::DeviceSet& devices);

  /// Keeps rows that may be among the first `rows` of an order by column `key`, then others: a superset of them. All
  /// rows stay where so many are wanted that it does not pay, or expressions do not compute with the column's type.
  void keep_top(std::size_t key, TopColumn column, std::uint64_t rows);

  /// The number of columns that the last step gives.
  std::size_t num_columns() const noexcept { return visible_.size(); }
  /// The number of steps so far.
  std::size_t num_steps() const noexcept { return steps_.size(); }
  /// Rows that step `i` gave, once the pipeline has run.
  std::uint64_t rows_of(std::size_t step) const noexcept { return stages_[step]->rows; }
  /// Nanoseconds of all threads within the step alone.
  std::uint64_t ns_of(std::size_t step) const noexcept { return stages_[step]->ns; }

  /// The rows that come out, in columns named by `names`, in the order of the source's rows. `rows`: at most so many,
  /// the first ones; the source is read no further than these need. `strings`: the form of strings that steps moved;
  /// views refer to the tables that they are of. Blocks; runs on the threads of the calling task arena. Columns of the
  /// source that no step moved are shared with it. Errors: those of the steps; cancelled; out_of_memory.
  Result<Table> run(std::vector<std::string> names, std::optional<std::uint64_t> rows,
                    StringForm strings = StringForm::utf8);

  /// The groups of the rows that come out, by the names of their columns, or the rows themselves where a sample of the
  /// first ones has few rows a key, or the group-by needs all of them at once. `shown`: names of the groups' columns in
  /// errors. Blocks as run() does. Errors: those of run() and PipelinedGroups.
  struct Grouped {
    Table table;
    bool are_groups = false;
    std::uint64_t rows = 0;  ///< that came out
    std::uint64_t ns = 0;    ///< of all threads within the group-by alone
  };
  Result<Grouped> run_grouped(std::vector<std::string> names, GroupBySpec const& spec,
                              std::span<std::string const> shown);

 private:
  struct Morsel {
    std::size_t batch = 0;
    std::int64_t in_batch = 0;
    std::int64_t begin = 0;
    std::uint64_t rows = 0;
  };
  /// A step's columns to read, known once all steps are, and its counts.
  struct Stage {
    Loader loader;
    std::atomic<std::uint64_t> rows{0};
    std::atomic<std::uint64_t> ns{0};
  };
  /// The batches of one morsel, in order.
  struct Output {
    std::vector<Batch> batches;
    std::uint64_t rows = 0;
    bool is_done = false;
    std::uint64_t first = 0;  ///< a number for its first row, greater than those of the outputs before it
    std::size_t lane = 0;     ///< of the thread that pushes into it
    std::uint64_t ns = 0;     ///< within groups_
  };
  class Prefix;

  expr::Expression over_slots(expr::Expression expression) const;
  void put_slots(expr::Expression& expression) const;
  Result<expr::Expression> with_dictionary_parts(expr::Expression expression);

  std::optional<Slot> integers_of(expr::Expression const& expression) const;

  /// Tells loaders and steps what is read, for a result of the visible columns; may be called anew for others.
  Result<void> prepare(std::vector<std::string> names, StringForm strings);
  /// The columns that groups read of those that come out: these alone that the group-by names, and integers in place of
  /// the floats that are computed of them, where nothing but their sums is wanted.
  struct GroupedColumns {
    std::vector<Slot> slots;
    std::vector<std::string> names;
    std::vector<std::size_t> integers;  ///< positions
    std::vector<bool> are_summed;       ///< a column each: nothing but its sums is wanted
  };
  GroupedColumns grouped_columns(std::span<std::string const> names, GroupBySpec const& spec) const;
  void allow_narrow(GroupedColumns const& read);
  Live live_behind(std::size_t step, std::vector<bool> const& read) const;
  bool comes_along(Slot slot) const;
  Field field_of(Slot slot) const;
  Schema schema_of(std::vector<std::string> names) const;
  /// Whether all rows of a column have one dictionary, whose values differ.
  bool has_one_dictionary(Slot slot) const;
  Result<std::uint64_t> build_bytes_left(std::uint64_t build_rows) const;

  std::vector<Morsel> cut_morsels() const;
  Chunk chunk_of(Morsel const& morsel) const;
  Result<void> add_to_groups(TableView rows, Output& output) const;
  Result<std::vector<Output>> run_samples(std::vector<Morsel>& morsels) const;
  Result<bool> pays_to_group(group_by::PipelinedGroups& groups, std::span<Output const> samples,
                             std::span<Morsel const> morsels) const;
  Result<Grouped> run_ungrouped(std::vector<Morsel> const& morsels, std::vector<Output> samples);
  Result<void> push(std::size_t step, Chunk chunk, std::size_t lane, Output& output) const;
  Result<void> write(Chunk chunk, Output& output) const;
  /// Pushes `count` chunks, which make(i) gives, from a step on. Returns the number of leading outputs that are whole.
  template <class Make>
  Result<std::size_t> push_all(std::size_t step, std::size_t count, std::span<Output> outputs,
                               std::optional<std::uint64_t> rows, Make const& make) const;
  /// The outputs of all morsels, and of what steps held back, as one.
  Result<Output> run_steps(std::vector<Morsel> const& morsels, std::optional<std::uint64_t> rows) const;
  Result<Table> put_together(std::vector<Batch> batches, std::optional<std::uint64_t> rows);

  TableView source_;
  PipelineOptions options_;
  std::vector<std::unique_ptr<Table>> kept_;
  std::uint64_t build_bytes_ = 0;  ///< of build sides so far, where they are limited
  Columns columns_;
  std::vector<Slot> visible_;                   ///< slots of the columns that the last step gives
  std::map<Slot, expr::Expression> constants_;  ///< columns that are one value
  std::map<Slot, Slot> integers_;               ///< those of int64 that computed ones are the float64s of
  bool is_range_ = true;                        ///< so far, chunks hold the source's rows as ranges
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<std::unique_ptr<Stage>> stages_;
  Loader written_;                               ///< reads the result's columns
  Schema written_schema_;                        ///< of the result
  Live result_;                                  ///< those that chunks have already, and where the others come from
  group_by::PipelinedGroups* groups_ = nullptr;  ///< take the result's rows
};

}  // namespace garuda::pipeline
