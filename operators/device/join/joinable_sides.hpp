// The sides of a join on a device as they are joined: keys of one width, null keys as the kind of join takes them; and
// the rows of a side that have a match, where no pair is wanted.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/compute/join/key_bitmap.hpp"
#include "operators/compute/join/resident_join.hpp"
#include "operators/compute/join/unmatched_rows.hpp"
#include "operators/compute/primitives/late_gather.hpp"
#include "operators/device/join/moved_sides.hpp"
#include "operators/device/strings/string_numbers.hpp"

namespace garuda::device {

/// The index kept of a side's keys, where a join may look rows up in it; nullptr: none.
compute::KeyIndex const* index_of(MovedSides const& sides, Side side);

/// Rows that are joined, and the copies that they view. Keys of strings are their numbers, several columns composed.
/// Null keys that are kept have a value that no other key of either side has: one for both sides where nulls are equal,
/// else one that the other side has not. The other rows with null keys are left out. By method bitmap all rows stay as
/// they are, but for their keys.
struct JoinableSides {
  /// Waits where a key has nulls, or is cut, and where keys or their strings are numbered. `sides` outlives it. `way`:
  /// says whether a kept index is looked up, which has no nulls. Errors: invalid_input for a key that does not fit 64
  /// bits; limit_exceeded, out_of_memory.
  static Result<JoinableSides> create(compute::ComputeContext& context, MovedSides const& sides,
                                      compute::ResidentJoinStrategy const& way, Control const& control);

  compute::DeviceRows const& of(Side side) const noexcept { return side == Side::left ? left : right; }
  /// Null keys of rows as the tables have them.
  std::optional<compute::NullFlags> const& key_nulls(Side side) const noexcept { return nulls_[side_index(side)]; }

  compute::DeviceRows left;
  compute::DeviceRows right;

 private:
  compute::DeviceRows& own(Side side) noexcept { return side == Side::left ? left : right; }
  Result<void> compose_keys(compute::ComputeContext& context, MovedSides const& sides, Control const& control);
  Result<void> resize_keys(compute::ComputeContext& context, MovedSide const& side, std::uint32_t key_words,
                           std::size_t copy);
  Result<void> number_keys(compute::ComputeContext& context, MovedSides const& sides, Control const& control);
  Result<void> give_null_keys(compute::ComputeContext& context, MovedSides const& sides, std::span<Side const> which);
  Result<void> drop_null_keys(compute::ComputeContext& context, Side side);

  std::optional<ComposedKeys> composed_;
  std::array<std::optional<compute::NullFlags>, 2> nulls_;  // by side
  std::array<std::optional<StringKeyColumn>, 2> numbered_;
  std::array<vk::Buffer, 2> resized_;
  std::array<vk::Buffer, 2> given_;
  std::array<std::optional<compute::NonNullRows>, 2> dropped_;
  std::optional<std::uint64_t> taken_;  // value of null keys of one side
};

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
                                  compute::ResidentJoinStrategy const& way, Control const& control);

/// Records marks of the left rows of a join without pairs, as `way` says; by partitions it waits for them. Errors: as
/// above.
Result<MarkedSide> mark_left(compute::ComputeContext& context, MovedSides const& sides,
                             compute::ResidentJoinStrategy const& way, Control const& control);

}  // namespace garuda::device
