// Group-bys of tables that stay in device memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cuda_backend/group_by/group_results.hpp"
#include "cuda_backend/group_by/resident_state_kernels.hpp"
#include "cuda_backend/join/chunk_tasks.hpp"
#include "cuda_backend/lane.hpp"
#include "cuda_backend/partition.hpp"
#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

/// A group-by of a table, run as often as wanted. Counts, sums, means and extremes of all kinds come from one pass over
/// keys and values, in shared memory, after partitioning where groups are many. Sums of floats are integers over the
/// lowest bit that any value of the column has; columns whose sums 128 bits would not hold, those with NaNs or
/// infinities, and more states than a block has room for are added up by the groups' numbers. Groups come in any order.
class ResidentGroupBy {
 public:
  /// `key` and `aggregates` name columns of `rows` rows in device memory, which with `lane` outlive this.
  /// `expected_groups`: decides how far rows are partitioned first. Errors: usage for kinds or functions that are not
  /// there; limit_exceeded for more than 2^30 rows.
  static Result<std::unique_ptr<ResidentGroupBy>> create(Lane& lane, GarudaCudaColumn const& key, std::uint64_t rows,
                                                         std::vector<GarudaCudaResidentAggregate> aggregates,
                                                         std::uint64_t expected_groups);
  ResidentGroupBy(ResidentGroupBy const&) = delete;
  ResidentGroupBy& operator=(ResidentGroupBy const&) = delete;
  ~ResidentGroupBy() { lane_.drain(); }

  /// Groups. Blocks. Columns are good until the next run. Errors: limit_exceeded, also when a sum leaves 64 bits;
  /// out_of_memory, device_failure, cancelled.
  Result<GarudaCudaResidentGroups> run();

 private:
  /// The rows that are aggregated, as they are, or in partitions.
  struct Rows {
    PartitionShape shape;
    PartitionedSide partitioned;
    TaskList tasks;
  };

  ResidentGroupBy(Lane& lane, GarudaCudaColumn const& key, std::uint32_t rows,
                  std::vector<GarudaCudaResidentAggregate> aggregates, std::uint64_t expected_groups);
  std::uint32_t state_of(StateFunction function, GarudaCudaResidentAggregate const& aggregate);
  Result<GarudaCudaResidentGroups> run_by_numbers();
  Result<Rows> partition_rows();
  Result<TaskList> list_chunks_of(PartitionedSide& partitioned);
  Result<bool> fit_float_sums();
  void choose_shape();
  std::uint32_t chunk_rows() const;
  std::uint32_t table_bits() const;
  Result<void> take_room(StatePass& pass);
  Result<bool> aggregate(Rows const& rows, std::uint64_t& groups);
  Result<void> finish(GarudaCudaResidentGroups& found);

  Lane& lane_;
  GarudaCudaColumn key_;
  std::uint32_t rows_;
  std::vector<GarudaCudaResidentAggregate> aggregates_;
  bool fits_block_;                        // whether a block has room for the states of a useful number of groups
  StatePass pass_;                         // states and the layout of a block's table
  std::vector<GarudaCudaColumn> columns_;  // of the states, each once
  std::uint64_t expected_groups_;
  std::uint32_t bits_ = 0;
  std::uint32_t log2_slots_ = 0;
  std::uint64_t capacity_ = 0;
  std::uint64_t room_ = 0;  // groups that out_ and keys_out_ hold
  Buffer table_keys_;
  std::vector<Buffer> table_states_;
  Buffer keys_out_;
  std::vector<Buffer> out_;
  ResultColumns results_;
};

}  // namespace garuda::cuda_backend
