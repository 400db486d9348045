// Joins of tables that stay in device memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cuda_backend/join/chunk_tasks.hpp"
#include "cuda_backend/join/resident_join_kernels.hpp"
#include "cuda_backend/lane.hpp"
#include "cuda_backend/partition.hpp"
#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

/// The inner join of two tables, run as often as wanted: both sides in radix partitions, joined in shared memory.
/// Payload is carried into the partitions with the keys ("GFTR" of Wu et al. 2025, §4.2) or fetched by row number
/// ("GFUR"), as tuned or by the bytes that move. Rows of the result come in any order.
/// Errors of every call: limit_exceeded, out_of_memory, device_failure, cancelled.
class ResidentJoin {
 public:
  /// `expected_rows`: room for the result at first. The tables' columns and `lane` outlive the join. Errors: usage for
  /// tables or a tuning that are not there.
  static Result<std::unique_ptr<ResidentJoin>> create(Lane& lane, GarudaCudaResidentTable const& left,
                                                      GarudaCudaResidentTable const& right, GarudaCudaJoinParts parts,
                                                      std::uint64_t expected_rows,
                                                      GarudaCudaResidentTuning const& tuning);
  ResidentJoin(ResidentJoin const&) = delete;
  ResidentJoin& operator=(ResidentJoin const&) = delete;
  ~ResidentJoin() { lane_.drain(); }

  /// Joins, again with more room when the result did not fit. Blocks. Columns are good until the next run.
  Result<GarudaCudaResidentRows> run();
  /// Marks the rows of a side that have a match, after a run; see GarudaCudaApi::mark_resident_join.
  Result<void> mark(bool is_left, std::span<std::uint64_t> words);

 private:
  struct JoinSide {
    GarudaCudaResidentTable table;
    PartitionedSide partitioned{};
    bool gathers = false;           ///< row numbers are partitioned, payload is fetched by them
    std::vector<Buffer> columns{};  ///< of the result
  };

  ResidentJoin(Lane& lane, GarudaCudaResidentTable const& left, GarudaCudaResidentTable const& right,
               GarudaCudaJoinParts parts, std::uint64_t expected_rows, GarudaCudaResidentTuning const& tuning);
  void choose_shape();
  void choose_payload(JoinSide& side) const;
  Result<void> take_room(std::uint64_t rows);
  Result<void> partition_side(JoinSide& side);
  Result<TaskList> list_tasks(JoinSide const& build, JoinSide const& probe);
  ResidentJoinPass pass_of(TaskList const& tasks, JoinSide const& build, JoinSide const& probe) const;
  PayloadColumns payload_of(JoinSide const& side) const;
  Result<std::uint64_t> join(TaskList const& tasks);
  GarudaCudaResidentRows rows_of_result(std::uint64_t count) const;

  Lane& lane_;
  GarudaCudaJoinParts parts_;
  GarudaCudaResidentTuning tuning_;
  std::uint64_t expected_rows_;
  bool build_is_left_;
  JoinSide build_;
  JoinSide probe_;
  PartitionShape shape_;
  std::uint32_t build_chunk_ = 0;
  std::uint32_t log2_buckets_ = 0;
  Buffer keys_;             // of the result
  std::uint64_t room_ = 0;  // rows that the result's columns hold
};

}  // namespace garuda::cuda_backend
