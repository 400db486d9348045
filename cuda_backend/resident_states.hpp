// The group-by of resident tables that computes several states as it reads the rows.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cuda_backend/chunk_tasks.hpp"
#include "cuda_backend/partitioned_side.hpp"
#include "cuda_backend/resident_aggregates.hpp"
#include "cuda_backend/resident_group_by.hpp"
#include "cuda_backend/resident_state_kernels.hpp"

namespace garuda::cuda_backend {

/// Counts, sums, means and extremes of all kinds: one pass over keys and values, in shared memory, after partitioning
/// where groups are many. Sums of floats are integers over the lowest bit that any value of the column has; columns
/// whose sums 128 bits would not hold, and those with NaNs or infinities, are left to ResidentAggregates. Groups come
/// in any order.
class ResidentStates final : public ResidentGrouping {
 public:
  /// Whether a block's shared memory holds these aggregates of a useful number of groups.
  static bool computes(Lane const& lane, std::vector<GarudaCudaResidentAggregate> const& aggregates);

  /// `key` and `aggregates` name columns of `rows` rows in device memory, which with `lane` outlive this. At most 2^30
  /// rows. `expected_groups`: decides how far rows are partitioned first.
  ResidentStates(Lane& lane, GarudaCudaColumn const& key, std::uint32_t rows,
                 std::vector<GarudaCudaResidentAggregate> aggregates, std::uint64_t expected_groups);
  ResidentStates(ResidentStates const&) = delete;
  ResidentStates& operator=(ResidentStates const&) = delete;
  ~ResidentStates() override { lane_.drain(); }

  /// Errors: limit_exceeded too when a sum leaves 64 bits.
  Result<GarudaCudaResidentGroups> run() override;

 private:
  /// What the rows are aggregated from: as they are, or in partitions.
  struct Rows {
    PartitionShape shape;
    PartitionedSide partitioned;
    TaskList tasks;
  };

  std::uint32_t state_of(StateFunction function, std::uint32_t kind, std::uint64_t values);
  template <class Key>
  Result<GarudaCudaResidentGroups> run_typed();
  template <class Key>
  Result<Rows> partition_rows();
  Result<bool> fit_float_sums();
  void choose_shape();
  Result<void> take_room(StatePass& pass);
  template <class Key>
  Result<bool> aggregate(Rows const& rows, std::uint64_t& groups);
  Result<void> finish(GarudaCudaResidentGroups& found);
  Result<std::uint64_t> finish_one(GarudaCudaResidentAggregate const& aggregate, std::uint32_t groups,
                                   std::uint32_t* overflow);

  Lane& lane_;
  Launch launch_;
  GarudaCudaColumn key_;
  std::uint32_t rows_;
  std::vector<GarudaCudaResidentAggregate> aggregates_;
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
  std::vector<Buffer> results_;
  std::unique_ptr<ResidentAggregates> by_windows_;
};

}  // namespace garuda::cuda_backend
