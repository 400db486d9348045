// One slice of an equi-join on a lane: the contract of garuda::contract::JoinKernel.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "cuda_backend/lane.hpp"
#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

/// Errors of every call: device_failure, out_of_memory, limit_exceeded, cancelled.
class Join {
 public:
  /// Starts uploads and matching; waits for none of it. `slice`'s keys and `lane` outlive the join.
  static Result<std::unique_ptr<Join>> begin(Lane& lane, GarudaCudaJoinSlice const& slice);
  virtual ~Join() = default;

  virtual Result<std::uint64_t> count() = 0;
  /// Requires first + out.size() <= count().
  virtual Result<void> pairs(std::uint64_t first, std::span<GarudaCudaRowPair> out) = 0;
  /// `words`: ceil(rows of the side / 64).
  virtual Result<void> mark(bool is_left, std::span<std::uint64_t> words) = 0;
};

}  // namespace garuda::cuda_backend
