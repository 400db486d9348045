// Cuts the group-by of a file into group-bys of tables that fit the memory limit.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "spill/group_by/file_group_by.hpp"
#include "spill/group_by/partial_groups.hpp"
#include "spill/memory_share.hpp"
#include "spill/part_runs.hpp"
#include "spill/spill_file.hpp"
#include "spill/table_input.hpp"

namespace garuda::spill {

/// Groups that no other part has.
struct GroupPart {
  Table table;
  bool is_grouped = false;       ///< `table` has the groups; else the rows to be grouped
  std::uint64_t data_bytes = 0;  ///< of the table, and of what is held beside it
};

/// The parts whose groups, one after the other, are those of the file.
class GroupParts {
 public:
  /// Opens the file. `engine`, `request` and `runs` must outlive this. Errors: those of TableInput::open.
  static Result<std::unique_ptr<GroupParts>> open(Engine& engine, FileGroupBy const& request, PartRuns& runs);

  TableInput const& input() const noexcept { return input_; }
  TemporaryFolder const& folder() const noexcept { return folder_; }
  std::uint64_t limit_bytes() const noexcept { return share_.limit_bytes; }

  /// Reads the file while it fits. Errors: those of TableInput; limit_exceeded for the only group of a group-by without
  /// keys that a device has to have whole.
  Result<void> read();

  /// True when the only part is the table.
  bool is_whole() const noexcept { return whole_; }
  std::uint64_t rows() const noexcept { return input_.rows_read(); }
  /// Blocks of rows that were grouped to be merged; groups that merging them has left so far.
  std::uint64_t blocks() const noexcept { return blocks_; }
  std::uint64_t merged_groups() const noexcept { return merged_groups_; }

  /// The specification for rows. An ordered group-by that does not fit has each group's first row as its last column.
  GroupBySpec const& spec() const noexcept { return whole_ ? request_.spec : spec_; }

  /// Returns the next part, nullopt after the last. Errors: those of SpillFile and Engine::group_by.
  Result<std::optional<GroupPart>> next();
  /// The rows of the part given last turned out to need more memory than was reckoned: they come once more, in other
  /// parts. Requires: it is not grouped, and nothing came of it.
  void refuse_last();

  /// The plan of grouping the first rows that do not fit, without spilling.
  Result<Plan> explain_block();
  /// Whether states of blocks are merged, as far as is known.
  bool merges_states() const noexcept { return merges_; }
  /// Whether an aggregate keeps all values of a group.
  bool keeps_values() const noexcept { return !unmergeable_.empty(); }

 private:
  using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

  /// Rows, and the groups of rows before them that were merged already, whose keys have the same hash.
  struct Partition {
    SpillFile rows;
    std::optional<SpillFile> groups;
    std::shared_ptr<DictionaryColumns const> dictionaries;  ///< of the groups
    std::uint32_t level = 0;
    std::uint64_t weight_above = 0;  ///< of the partition that it was split from
    bool is_refused = false;         ///< as a table
  };
  /// Rows that are read block by block.
  struct Source {
    NextBatch next;
    std::deque<BatchPtr> ahead;  ///< that come first
    bool is_spilled = false;     ///< without their dictionaries
    bool may_split = true;       ///< when their groups do not fit
  };

  GroupParts(Engine& engine, FileGroupBy const& request, PartRuns& runs, TableInput input);

  Result<void> find_spec();
  Result<GroupPart> take_whole();
  Result<std::optional<GroupPart>> start();
  Result<GroupPart> load(Partition partition);
  Result<std::optional<GroupPart>> group(Partition partition);
  Result<std::optional<GroupPart>> group_alone(Partition const& partition);
  Result<std::vector<std::shared_ptr<arrow::Array>>> kept_values(Partition const& partition);

  Result<io::ArrowBatches> next_block(Source& source) const;
  Result<Table> rows_of(io::ArrowBatches batches, bool is_spilled) const;
  Result<io::ArrowBatches> group_block(io::ArrowBatches const& rows, bool is_spilled);
  Result<bool> reduce(Source& source, io::ArrowBatches& groups);
  Result<bool> merge(io::ArrowBatches& groups, bool may_refuse);
  Result<GroupPart> finished(io::ArrowBatches const& groups) const;
  GroupByOptions options_beside(std::uint64_t bytes) const;
  Error one_group_too_large(std::string const& aggregate, std::uint64_t bytes) const;
  bool is_on_device() const noexcept { return request_.options.tuning.placement == Placement::device; }

  Result<std::vector<SpillFile>> split(NextBatch const& next, std::uint32_t level, std::uint32_t bits,
                                       RowVolume const& volume);
  Result<void> split_groups(io::ArrowBatches groups, std::uint32_t level, std::uint32_t bits,
                            std::vector<Partition>& partitions);
  Result<void> push(std::vector<SpillFile> rows, io::ArrowBatches groups, std::uint32_t level, std::uint32_t bits,
                    std::uint64_t weight_above);

  Engine& engine_;
  FileGroupBy const& request_;
  PartRuns& runs_;
  TemporaryFolder folder_;
  MemoryShare share_;
  TableInput input_;
  GroupBySpec spec_;
  std::vector<int> keys_;
  std::vector<DataType> key_types_;  // as which they are hashed
  std::optional<PartialGroups> partial_;
  std::string unmergeable_;  // an aggregate; empty: states are merged
  std::uint64_t blocks_ = 0;
  std::uint64_t merged_groups_ = 0;
  bool merges_ = false;
  bool whole_ = false;
  bool started_ = false;
  std::vector<Partition> waiting_;  // the next one last
  std::optional<Partition> last_;   // of the part given last, unless that is grouped
};

}  // namespace garuda::spill
