// Joins of tables that stay in device memory.
#pragma once

#include <cstdint>
#include <memory>

#include "cuda_backend/lane.hpp"
#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

/// The inner join of two tables, run as often as wanted. Rows of the result come in any order.
/// Errors of every call: limit_exceeded, out_of_memory, device_failure, cancelled.
class ResidentJoin {
 public:
  /// The join by `tuning.method`. Partitioned, the default: both sides in radix partitions, joined in shared memory;
  /// payload is carried into the partitions with the keys ("GFTR" of Wu et al. 2025, §4.2) or fetched by row number
  /// ("GFUR"), as tuned or by the bytes that move. Table and merge list the
  /// matches of each probe row and fetch by row number. `expected_rows`: room for the
  /// result at first. The tables' columns and `lane` outlive the join. Errors: usage for tables or a tuning that are
  /// not there.
  static Result<std::unique_ptr<ResidentJoin>> create(Lane& lane, GarudaCudaResidentTable const& left,
                                                      GarudaCudaResidentTable const& right, std::uint64_t expected_rows,
                                                      GarudaCudaResidentTuning const& tuning);
  virtual ~ResidentJoin() = default;

  /// Joins, again with more room when the result did not fit. Blocks. Columns are good until the next run.
  virtual Result<GarudaCudaResidentRows> run() = 0;
};

}  // namespace garuda::cuda_backend
