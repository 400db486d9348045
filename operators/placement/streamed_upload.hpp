// The way up of one side of a join that goes to a device whole.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "operators/placement/streamed_plan.hpp"
#include "vk_runtime/copy_team.hpp"
#include "vk_runtime/memory.hpp"

namespace garuda::placement {

/// Says which host memory goes where; columns that the device has in another layout are made when they are copied.
/// Outlives its copies; side and targets outlive it.
class SideUpload {
 public:
  /// `targets`: one a column of the side, with room for its rows.
  SideUpload(StreamedSide const& side, std::span<vk::Buffer const> targets);

  std::uint64_t rows() const noexcept { return side_.rows; }
  /// Rows [first, first + rows) of all columns.
  std::vector<vk::HostCopy> copies(std::uint64_t first, std::uint64_t rows) const;
  /// Of the copies made so far: a row whose key has a value of more words than the side's keys, the first of a table of
  /// which all are made.
  std::optional<std::uint64_t> wide_key_row() const noexcept;

 private:
  StreamedSide const& side_;
  std::span<vk::Buffer const> targets_;
  std::atomic<std::uint64_t> wide_key_row_;            ///< the threads that make keys note it
  std::vector<std::unique_ptr<vk::HostSource>> made_;  ///< by column; null where the table has the words
};

}  // namespace garuda::placement
