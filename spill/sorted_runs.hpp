// An external sort of rows that come in sorted runs already: runs in spill files, merged with bounded memory.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/run/query_run.hpp"
#include "spill/dictionary_columns.hpp"
#include "spill/row_partitioner.hpp"
#include "spill/spill_file.hpp"

namespace garuda::spill {

/// Position of a row among all: numbers of up to two columns.
using RowOrder = std::pair<std::uint64_t, std::uint64_t>;

/// Columns of int64 by which rows are sorted: of the first nulls come last.
struct OrderColumns {
  int first = 0;
  std::optional<int> second;

  /// The order of a row of `batch`.
  RowOrder order_of(arrow::RecordBatch const& batch, std::int64_t row) const;
};

/// Merges runs. Holds a batch of each.
class RunMerger {
 public:
  /// `runs` are finished. Errors: those of SpillFile::read.
  static Result<RunMerger> open(std::vector<SpillFile> runs, OrderColumns columns);

  /// The next rows in order; nullptr after the last. Errors: those of SpillFile; out_of_memory.
  Result<std::shared_ptr<arrow::RecordBatch>> next();

 private:
  using BatchPtr = std::shared_ptr<arrow::RecordBatch>;
  struct Cursor {
    NextBatch next;
    BatchPtr batch;
    std::int64_t position = 0;
  };

  RunMerger(std::vector<SpillFile> runs, OrderColumns columns) : runs_(std::move(runs)), columns_(columns) {}
  Result<void> fill();
  Result<BatchPtr> merge(std::vector<BatchPtr> const& slices) const;

  std::vector<SpillFile> runs_;
  OrderColumns columns_;
  std::vector<Cursor> cursors_;
};

/// Rows in, in runs that are sorted; the same rows out, sorted. A run ends where the order of rows does. Move-only.
class SortedRuns {
 public:
  /// `schema`: without dictionaries. `folder`, `control` and `recorder` must outlive this.
  SortedRuns(std::shared_ptr<arrow::Schema> schema, OrderColumns columns, std::uint64_t limit_bytes,
             TemporaryFolder const& folder, Control const& control, run::RunRecorder& recorder);

  /// Errors: those of SpillFile; cancelled.
  Result<void> add(std::shared_ptr<arrow::RecordBatch> const& batch);
  /// Ends the rows; called once, after the last.
  Result<void> finish();
  /// The next rows in order, nullptr after the last. Requires finish.
  Result<std::shared_ptr<arrow::RecordBatch>> next();

 private:
  Result<void> write(arrow::RecordBatch const& batch);
  Result<void> end_run();
  Result<void> push(SpillFile run, std::size_t level);
  Result<SpillFile> merge(std::vector<SpillFile> runs);

  std::shared_ptr<arrow::Schema> schema_;
  OrderColumns columns_;
  std::size_t fan_in_;         ///< runs that are merged at once
  std::uint64_t batch_bytes_;  ///< of a run, about: of so many a merge holds one each
  TemporaryFolder const* folder_;
  Control const* control_;
  run::RunRecorder* recorder_;
  std::optional<SpillFile> run_;  ///< that is being written
  RowOrder last_{};               ///< of its rows
  std::vector<std::vector<SpillFile>> levels_;
  std::optional<RunMerger> merger_;
};

/// Takes batches, each part's in order, and gives all of them in order, without the columns that they are ordered by.
class OrderedBatches {
 public:
  /// `control`, `folder` and `recorder` must outlive this.
  OrderedBatches(OrderColumns columns, std::uint64_t limit_bytes, TemporaryFolder const& folder, Control const& control,
                 run::RunRecorder& recorder)
      : columns_(columns), limit_bytes_(limit_bytes), folder_(folder), control_(control), recorder_(recorder) {}

  /// Takes the batches of all parts, which `next` gives, nullopt after the last; called once. `schema` is that of the
  /// batch given last: the same for all but for types of indices. Errors: those of `next`, SortedRuns,
  /// DictionaryColumns.
  Result<void> take_all(Schema const& schema, std::function<Result<std::optional<Batch>>()> const& next);
  /// The next rows, nullopt after the last.
  Result<std::optional<Batch>> next();

 private:
  Result<void> add(Schema const& schema, Batch batch);

  OrderColumns columns_;
  std::uint64_t limit_bytes_;
  TemporaryFolder const& folder_;
  Control const& control_;
  run::RunRecorder& recorder_;
  std::optional<DictionaryColumns> dictionaries_;  ///< nullopt: no batch yet
  std::optional<SortedRuns> runs_;
};

}  // namespace garuda::spill
