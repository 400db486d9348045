// Group-bys of tables that stay in device memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cuda_backend/chunk_tasks.hpp"
#include "cuda_backend/lane.hpp"
#include "cuda_backend/partitioned_side.hpp"
#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

namespace garuda::cuda {

/// A group-by of a table, run as often as wanted.
class ResidentGrouping {
 public:
  virtual ~ResidentGrouping() = default;
  /// Groups. Blocks. Columns are good until the next run.
  virtual Result<GarudaCudaResidentGroups> run() = 0;
};

/// Chooses and makes the group-by: the first of ResidentGroupBy, ResidentStates and ResidentAggregates that computes
/// what is asked for. Errors: usage for kinds or functions that are not there; limit_exceeded for more than 2^30 rows.
Result<std::unique_ptr<ResidentGrouping>> create_resident_grouping(
    Lane& lane, GarudaCudaColumn const& key, std::uint64_t rows,
    std::vector<GarudaCudaResidentAggregate> const& aggregates, std::uint64_t expected_groups);

/// SUM of int32 values by int32 keys: aggregated in shared memory as they are read. Groups come in any order.
class ResidentGroupBy final : public ResidentGrouping {
 public:
  /// `expected_groups`: decides how far rows are partitioned first. Keys, values and `lane` outlive the group-by.
  ResidentGroupBy(Lane& lane, std::uint32_t const* keys, std::int32_t const* values, std::uint32_t rows,
                  std::uint64_t expected_groups);
  ResidentGroupBy(ResidentGroupBy const&) = delete;
  ResidentGroupBy& operator=(ResidentGroupBy const&) = delete;
  ~ResidentGroupBy() override { lane_.drain(); }

  Result<GarudaCudaResidentGroups> run() override;

 private:
  /// Rows as they are, or in the order of partitions.
  struct Rows {
    std::uint32_t const* keys = nullptr;
    std::int32_t const* values = nullptr;
    bool mixed = false;
    PartitionedSide partitioned;
  };

  Result<Rows> partition_rows();
  Result<void> take_room();
  /// Groups written, or nothing when table or room were too small and have been made larger.
  Result<bool> aggregate(Rows const& rows, TaskList const& tasks, std::uint64_t& groups);

  Lane& lane_;
  Launch launch_;
  std::uint32_t const* keys_;
  std::int32_t const* values_;
  std::uint32_t rows_;
  std::uint32_t bits_ = 0;
  std::uint32_t log2_slots_ = 0;
  std::uint32_t log2_shared_slots_ = 0;
  std::uint64_t capacity_ = 0;
  Buffer table_;
  Buffer keys_out_;
  Buffer sums_out_;
};

}  // namespace garuda::cuda
