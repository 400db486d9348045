// The result of spilled parts in the order of rows of its inputs.
#pragma once

#include <cstdint>
#include <optional>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/run/run_recorder.hpp"
#include "spill/dictionary_columns.hpp"
#include "spill/order/sorted_runs.hpp"
#include "spill/temporary_folder.hpp"

namespace garuda::spill {

/// Takes batches, each part's in order, and gives all of them in order, without the columns that they are ordered by.
class OrderedBatches {
 public:
  /// `control`, `folder` and `recorder` must outlive this.
  OrderedBatches(OrderColumns columns, std::uint64_t limit_bytes, TemporaryFolder const& folder, Control const& control,
                 run::RunRecorder& recorder)
      : columns_(columns), limit_bytes_(limit_bytes), folder_(folder), control_(control), recorder_(recorder) {}

  /// `schema`: of `batch`, the same for all but for types of indices. Errors: those of SortedRuns, DictionaryColumns.
  Result<void> add(Schema const& schema, Batch batch);
  /// To be called once, after the last batch.
  Result<void> finish();
  /// The next rows, nullopt after the last.
  Result<std::optional<Batch>> next();

 private:
  OrderColumns columns_;
  std::uint64_t limit_bytes_;
  TemporaryFolder const& folder_;
  Control const& control_;
  run::RunRecorder& recorder_;
  std::optional<DictionaryColumns> dictionaries_;  ///< nullopt: no batch yet
  std::optional<SortedRuns> runs_;
};

}  // namespace garuda::spill
