// The partitioned group-by (GARUDA §4), the same for every path.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "keys/group_keys.hpp"
#include "operators/contract/device_set.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/contract/offers/path_row.hpp"
#include "operators/group_by/group_states.hpp"
#include "operators/group_by/planned_group_by.hpp"
#include "operators/group_by/value_reader.hpp"
#include "operators/resolve/group_by_columns.hpp"
#include "operators/run/lane_scheduler.hpp"
#include "operators/run/query_run.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::group_by {

/// Rows [begin, end) of the partitioned order.
struct GroupTask {
  std::uint32_t partition = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool is_whole = true;  ///< all rows of its partition

  std::uint64_t size() const noexcept { return end - begin; }
  friend bool operator==(GroupTask const&, GroupTask const&) = default;
};

/// Cuts every partition with rows into slices of at most `slice_rows` rows, in order. `offsets`: partitions + 1.
std::vector<GroupTask> cut_group_tasks(std::vector<std::uint64_t> const& offsets, std::uint64_t slice_rows);

/// Keys in the order of partitions. Not movable while slices refer to it.
class PartitionedGroupKeys {
 public:
  /// No keys: all `num_rows` rows are one group.
  static PartitionedGroupKeys without_keys(std::uint64_t num_rows);

  /// Partitions `keys` by `digit` in the calling task arena and takes them over. Errors: out_of_memory, cancelled.
  static Result<PartitionedGroupKeys> partition(keys::EncodedGroupKeys keys, partition::RadixDigit digit,
                                                Control const& control);

  /// Memory that a slice refers to.
  struct Slice {
    std::vector<AlignedBuffer> words;
    contract::GroupSlice keys;
  };
  /// The keys of `task`'s rows; gathers words in the calling task arena. Errors: out_of_memory, cancelled.
  Result<Slice> slice(GroupTask const& task, Control const& control) const;

  contract::SliceRows rows(GroupTask const& task) const noexcept { return {task.begin, task.size(), &order_}; }
  std::vector<std::uint64_t> const& offsets() const noexcept { return order_.offsets; }
  /// Words of 32 bits of a row's keys in slices; 0: they are packed, or there are none.
  std::uint32_t num_words() const noexcept { return static_cast<std::uint32_t>(2 * keys_.words.size()); }

 private:
  enum class Form : std::uint8_t { none, packed, words };

  Form form_ = Form::none;
  keys::EncodedGroupKeys keys_;
  partition::RadixDigit digit_;
  partition::PartitionedKeys order_;
};

/// Groups of several small parts that become one batch: a column of it is as large as memory that is kept.
inline constexpr std::uint64_t kBatchGroups = std::uint64_t{1} << 16;

/// A piece that lanes hand over: groups, or rows of the result that were made of them.
struct GroupedPiece {
  GroupChunk groups;
  std::optional<Batch> batch;  ///< then `groups` has the number of its partition alone

  std::size_t size() const noexcept { return batch ? static_cast<std::size_t>(batch->num_rows) : groups.size(); }
};

/// A group-by whose input is partitioned, or grouped already, and whose path is open: gives its groups, once.
class PartitionedGroupBy final : private contract::TableValues {
 public:
  /// Partitions, or groups the whole table, and opens the path of `planned`. Blocks until that is done. Errors: those
  /// of radix_partition and of the path's open functions.
  static Result<std::unique_ptr<PartitionedGroupBy>> prepare(resolve::GroupByRequest const& request,
                                                             PlannedGroupBy planned,
                                                             std::unique_ptr<run::QueryRun> run);

  PartitionedGroupBy(PartitionedGroupBy const&) = delete;
  PartitionedGroupBy& operator=(PartitionedGroupBy const&) = delete;
  /// Cancels what still runs.
  ~PartitionedGroupBy() override;

  /// Makes a batch of groups of a partition, from `first` on; its num_rows says of how many. Called by several threads,
  /// in the arena of the calling one.
  using Write = std::function<Result<Batch>(GroupChunk const& groups, std::uint64_t first)>;
  /// Lets the lanes write what they have all groups of. Before the first next_partition().
  void write_in_lanes(Write write) { write_ = std::move(write); }

  /// Returns the groups of the next partition that has rows, or the next batch of one that a lane has written; nullopt
  /// after the last. The lanes start with the first call. Without keys there is one group, even of no rows. Blocks.
  Result<std::optional<GroupedPiece>> next_partition();

  Plan plan() const { return run_->recorder.with_notes(chosen_.plan); }
  RunStats stats(std::uint64_t rows_out) const;
  Control const& control() const noexcept { return options_.control; }
  oneapi::tbb::task_arena& arena() noexcept { return run_->arena; }
  run::RunRecorder& recorder() noexcept { return run_->recorder; }
  std::vector<ValueReader> const& values() const noexcept { return values_; }
  resolve::ResolvedGroupBy const& columns() const noexcept { return columns_; }
  /// Makes keys of the groups' key words; nullptr: keys are gathered from the groups' first rows.
  keys::KeyDecoder const* decoder() const noexcept { return decoder_ ? &*decoder_ : nullptr; }
  std::uint64_t chunk_rows() const noexcept { return chosen_.plan.chunk_rows; }

 private:
  using GroupScheduler = run::BasicLaneScheduler<GroupedPiece>;
  using Emit = GroupScheduler::Emit;

  PartitionedGroupBy(resolve::GroupByRequest const& request, std::unique_ptr<run::QueryRun> run);

  Result<contract::SliceValues> read(std::size_t column, contract::SliceRows const& rows) const override;
  std::vector<partition::PayloadColumn::Part> in_place(std::size_t column) const override {
    return values_[column].in_place();
  }
  bool reads_row_ids(std::size_t column) const override { return values_[column].reads_row_ids(); }
  Result<void> open_whole();
  Result<void> open_slices(partition::RadixDigit digit);
  Result<void> partition_keys(partition::RadixDigit digit);
  Result<void> open_path();
  void start_lanes();
  Result<void> emit_parts(std::uint32_t lane, std::size_t task, Emit const& emit);
  Result<void> group_slice(std::uint32_t lane, GroupTask const& task, Emit const& emit);
  Result<void> hand_over(std::uint32_t lane, GroupChunk groups, bool is_complete, Emit const& emit);
  Result<GroupChunk> run_kernel(std::uint32_t lane, GroupTask const& task);
  void report_progress(std::uint64_t groups);

  std::unique_ptr<run::QueryRun> run_;
  TableView table_;
  resolve::ResolvedGroupBy columns_;
  GroupByOptions options_;
  contract::DeviceSet* devices_;
  contract::RowExpressions const* expressions_;
  bool wants_order_;
  plan::GroupByPlan chosen_;
  contract::PathRow const* path_ = nullptr;
  std::vector<ValueReader> values_;
  keys::EncodedGroupKeys encoded_;                 // of a whole table; those of slices are in keys_
  std::unique_ptr<contract::WholeGroupBy> whole_;  // refers to the keys and values above
  std::optional<keys::KeyDecoder> decoder_;
  PartitionedGroupKeys keys_;
  std::vector<GroupTask> tasks_;
  std::size_t num_tasks_ = 0;
  std::size_t parts_at_once_ = 1;  // of `whole_`, a task
  std::unique_ptr<contract::GroupByBackend> backend_;
  std::mutex progress_mutex_;
  std::size_t tasks_done_ = 0;
  std::uint64_t groups_found_ = 0;
  Write write_;
  std::optional<GroupedPiece> pending_;  // read from the lanes, of a partition not returned yet
  bool empty_returned_ = false;
  std::vector<std::unique_ptr<oneapi::tbb::task_arena>> lane_arenas_;  // of lanes while they make and write groups
  std::unique_ptr<GroupScheduler> scheduler_;                          // last: its lanes use everything above
};

/// Starts the group-by; see Engine::group_by.
Result<std::unique_ptr<GroupByResult>> group_by(resolve::GroupByRequest request);

/// Plans without running; see Engine::explain_group_by.
Result<Plan> explain_group_by(resolve::GroupByRequest request);

}  // namespace garuda::group_by
