// A group that is larger than the memory limit: aggregates that keep all of its values.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "io/arrow_bridge.hpp"
#include "spill/dictionary_columns.hpp"
#include "spill/memory_share.hpp"
#include "spill/part_runs.hpp"
#include "spill/spill_file.hpp"

namespace garuda::spill {

/// Gives rows in blocks that half the limit holds, with what grouping them takes; after the last, no batches.
using NextBlock = std::function<Result<io::ArrowBatches>()>;

/// Makes such aggregates one by one, each in one pass over the group's values and in bounded memory.
///
/// | aggregate | its values |
/// |---|---|
/// | median, quantile | sorted runs, merged; the two values around its place are aggregated |
/// | count_distinct | distinct ones of each block, in partitions by their hash |
/// | min_n, max_n | the lists of blocks, which are merged |
class LargeGroup {
 public:
  /// `options`: of runs beside a block. `engine`, `folder` and `runs` must outlive this.
  LargeGroup(Engine& engine, MemoryShare share, GroupByOptions options, TemporaryFolder const& folder, PartRuns& runs)
      : engine_(engine), share_(share), options_(std::move(options)), folder_(folder), runs_(runs) {}

  /// Makes an array of one value. `blocks`: of the aggregate's column alone, `volume` of them all. The bits are those
  /// of one table's group-by. Blocks. Errors: those of Engine::group_by and SpillFile; limit_exceeded for the quantile
  /// of decimals of 256 bits, for lists that do not fit, and for more distinct values than partitions hold.
  Result<std::shared_ptr<arrow::Array>> value_of(Aggregate const& aggregate, NextBlock const& blocks,
                                                 RowVolume const& volume);

 private:
  /// Distinct values of blocks, by their hash; no files where there are no values.
  struct DistinctParts {
    std::vector<SpillFile> files;
    std::optional<DictionaryColumns> dictionaries;
  };

  Result<std::shared_ptr<arrow::Array>> aggregated(io::ArrowBatches rows, Aggregate const& aggregate);
  Result<std::shared_ptr<arrow::Array>> quantile(Aggregate aggregate, NextBlock const& blocks);
  Result<std::shared_ptr<arrow::Array>> extremes(Aggregate const& aggregate, NextBlock const& blocks);
  Result<io::ArrowBatches> distinct(io::ArrowBatches rows, std::string const& column);
  Result<io::ArrowBatches> distinct_of_all(std::string const& column, NextBlock const& blocks);
  Result<DistinctParts> split_distinct(std::string const& column, NextBlock const& blocks, RowVolume const& volume,
                                       std::uint32_t level);
  Result<std::int64_t> count_distinct(std::string const& column, NextBlock const& blocks, RowVolume const& volume,
                                      std::uint32_t level);

  Engine& engine_;
  MemoryShare share_;
  GroupByOptions options_;
  TemporaryFolder const& folder_;
  PartRuns& runs_;
};

}  // namespace garuda::spill
