// Joins of tables that stay in device memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

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
  /// ("GFUR"), as tuned or by the bytes that move. Table and merge: make_listed_join(). `expected_rows`: room for the
  /// result at first. The tables' columns and `lane` outlive the join. Errors: usage for tables or a tuning that are
  /// not there.
  static Result<std::unique_ptr<ResidentJoin>> create(Lane& lane, GarudaCudaResidentTable const& left,
                                                      GarudaCudaResidentTable const& right, std::uint64_t expected_rows,
                                                      GarudaCudaResidentTuning const& tuning);
  virtual ~ResidentJoin() = default;

  /// Joins, again with more room when the result did not fit. Blocks. Columns are good until the next run.
  virtual Result<GarudaCudaResidentRows> run() = 0;
};

/// Columns of a result, with room for a number of rows.
class ResidentResult {
 public:
  ResidentResult(Lane& lane, GarudaCudaResidentTable const& left, GarudaCudaResidentTable const& right,
                 std::uint64_t expected_rows);

  std::uint64_t expected_rows() const noexcept { return expected_; }
  std::uint64_t room() const noexcept { return room_; }
  /// Room for `rows`, and for as many as are expected; what is there already stays. Errors: limit_exceeded,
  /// out_of_memory.
  Result<void> take_room(std::uint64_t rows = 0);
  Buffer const& keys() const noexcept { return keys_; }
  std::span<Buffer const> left() const noexcept { return left_; }
  std::span<Buffer const> right() const noexcept { return right_; }
  GarudaCudaResidentRows rows(std::uint64_t count) const;

 private:
  Lane& lane_;
  GarudaCudaResidentTable left_table_;
  GarudaCudaResidentTable right_table_;
  std::uint64_t expected_;
  std::uint64_t room_ = 0;
  Buffer keys_;
  std::vector<Buffer> left_;
  std::vector<Buffer> right_;
};

/// The join through a list of each probe row's matches: one table in device memory, or both sides sorted. Payload is
/// fetched by row number. At most 2^30 build rows.
template <class Key>
std::unique_ptr<ResidentJoin> make_listed_join(Lane& lane, GarudaCudaResidentTable const& left,
                                               GarudaCudaResidentTable const& right, std::uint64_t expected_rows,
                                               GarudaCudaJoinMethod method);

}  // namespace garuda::cuda_backend
