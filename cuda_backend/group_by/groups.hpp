// Rows numbered by their groups, in the order of the groups' first rows.
#pragma once

#include <cstdint>

#include "cuda_backend/lane.hpp"
#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

/// A hash table with a slot a group, which holds the group's lowest row in the end; kNoRow: free.
struct GroupTable {
  std::uint32_t* heads = nullptr;
  std::uint32_t log2_slots = 0;
  std::uint32_t max_groups = 0;  ///< more set `overflow`
  std::uint32_t* inserted = nullptr;
  std::uint32_t* overflow = nullptr;
};

/// The groups of some rows. Errors of every call: device_failure, out_of_memory, limit_exceeded, cancelled.
class Groups {
 public:
  /// Numbers the groups of rows whose keys lie on the device; without keys all rows are one group. Waits for the lane,
  /// which outlives the groups.
  static Result<Groups> find(Lane& lane, GarudaCudaGroupKeys const& keys);

  std::uint32_t rows() const noexcept { return keys_.rows; }
  std::uint32_t size() const noexcept { return num_groups_; }
  /// size() first rows, ascending, on the device.
  std::uint32_t const* heads() const noexcept { return heads_.as<std::uint32_t>(); }
  /// The group of each row, on the device.
  std::uint32_t const* ids() const noexcept { return ids_.as<std::uint32_t>(); }

 private:
  explicit Groups(GarudaCudaGroupKeys const& keys) : keys_(keys) {}
  Result<void> take_one(Lane& lane);
  Result<void> hash_all(Lane& lane);
  Result<bool> hash(Lane& lane, std::uint32_t log2_slots);
  Result<void> number(Lane& lane);

  GarudaCudaGroupKeys keys_;
  GroupTable table_;
  Buffer table_heads_;
  Buffer slots_;
  Buffer ids_;
  Buffer heads_;
  std::uint32_t num_groups_ = 1;
};

}  // namespace garuda::cuda_backend
