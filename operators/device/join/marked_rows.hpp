// Rows of a side that have a match, where no pair is wanted.
#pragma once

#include <optional>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/compute/join/alone_rows.hpp"
#include "operators/compute/join/key_bitmap.hpp"
#include "operators/compute/join/resident_join.hpp"
#include "operators/device/join/joinable_sides.hpp"
#include "operators/device/join/moved_sides.hpp"

namespace garuda::device {

/// The range of a side's keys; of strings, and of composed keys, that of all numbers, for which nothing is read. Else
/// as value_range().
Result<std::optional<compute::KeyRange>> key_range(MovedSides const& sides, Side side, Control const& control);

/// Marked by a bitmap of the other side's keys. Owns the marks, and what the passes that make them read.
class MarkedByBitmap {
 public:
  /// Records the marks of rows of the other side than `build`, as `way` says. The bitmap has the range of the keys of
  /// the side that `way` builds on, to which all matches belong. Errors: limit_exceeded, out_of_memory, invalid_input
  /// for keys that are not compared.
  static Result<MarkedByBitmap> create(compute::ComputeContext& context, MovedSides const& sides, Side build,
                                       compute::ResidentJoinWay const& way, Control const& control);

  compute::MarkedRows const& rows() const noexcept { return rows_; }
  /// Waits for their number. Errors: device_failure, cancelled.
  Result<std::uint64_t> count(compute::ComputeContext& context) const;

 private:
  JoinableSides joinable_;
  std::optional<compute::KeyBitmap> bitmap_;
  vk::Buffer marks_;
  compute::MarkedRows rows_;
};

/// The left rows of a join without pairs, marked as `way` says.
class MarkedLeft {
 public:
  /// Records the marks; by partitions waits for them. Errors: as above.
  static Result<MarkedLeft> create(compute::ComputeContext& context, MovedSides const& sides,
                                   compute::ResidentJoinWay const& way, Control const& control);

  compute::MarkedRows const& rows() const noexcept { return rows_; }

 private:
  std::optional<MarkedByBitmap> by_bitmap_;  ///< or the two below
  JoinableSides joinable_;
  std::optional<compute::ResidentJoin> join_;
  compute::MarkedRows rows_;
};

}  // namespace garuda::device
