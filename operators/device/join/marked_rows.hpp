// Rows of a side that have a match, where no pair is wanted.
#pragma once

#include <optional>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/compute/join/key_bitmap.hpp"
#include "operators/compute/join/resident_join.hpp"
#include "operators/compute/join/unmatched_rows.hpp"
#include "operators/device/join/joinable_sides.hpp"
#include "operators/device/join/moved_sides.hpp"

namespace garuda::device {

/// The range of a side's keys; of strings, and of composed keys, that of all numbers, for which nothing is read. Else
/// as value_range().
Result<std::optional<compute::KeyRange>> key_range(MovedSides const& sides, Side side, Control const& control);

/// The rows of one side with their marks. Owns the marks, and the tables that the passes which make them read.
struct MarkedSide {
  compute::MarkedRows rows;
  JoinableSides joinable;
  std::optional<compute::KeyBitmap> bitmap;
  vk::Buffer marks;  ///< by the bitmap; else the join has them
  std::optional<compute::ResidentJoin> join;
};

/// Records marks of the rows of the other side than `build`, by a bitmap of the keys of `build`, as `way` says. The
/// bitmap has the range of the keys of the side that `way` builds on, to which all matches belong. Errors:
/// limit_exceeded, out_of_memory, invalid_input for keys that are not compared.
Result<MarkedSide> mark_by_bitmap(compute::ComputeContext& context, MovedSides const& sides, Side build,
                                  compute::ResidentJoinWay const& way, Control const& control);

/// Records marks of the left rows of a join without pairs, as `way` says; by partitions it waits for them. Errors: as
/// above.
Result<MarkedSide> mark_left(compute::ComputeContext& context, MovedSides const& sides,
                             compute::ResidentJoinWay const& way, Control const& control);

}  // namespace garuda::device
