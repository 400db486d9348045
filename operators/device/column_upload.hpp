// The way up of a table's columns: which words a device wants of them, and where these come from.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "garuda/table.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/memory/copy_team.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::device {

/// A column that goes to a device: values of one column of the table, or words of null bits of some.
struct UploadColumn {
  std::vector<std::size_t> sources;  ///< columns of the table
  std::uint32_t words = 1;           ///< u32 words of a value
  bool is_nulls = false;
  bool is_direct = true;  ///< the table's memory holds these words

  friend bool operator==(UploadColumn const&, UploadColumn const&) = default;
};

/// The values of a column in as many words as it takes on a device, of strings there their numbers. Requires: its type
/// can go there.
UploadColumn value_column(TableView table, std::size_t column);

/// Where the null bits of a column of the table are.
struct NullBits {
  std::size_t column = 0;
  std::size_t position = 0;  ///< among the columns that go up
  std::uint32_t bit = 0;
};

/// Adds words of the null bits of these columns of a table, 32 to a word.
std::vector<NullBits> add_null_words(std::span<std::size_t const> nullable, std::vector<UploadColumn>& columns);

/// Bytes of a row.
std::uint64_t row_bytes(std::span<UploadColumn const> columns) noexcept;

/// Says which host memory goes where; columns that the device has in another layout are made when they are copied.
/// Outlives its copies; columns and targets outlive it.
class ColumnUpload {
 public:
  /// `targets`: one a column, with room for the table's rows.
  ColumnUpload(TableView table, std::span<UploadColumn const> columns, std::vector<vk::Buffer const*> targets);

  /// Rows [first, first + rows) of all columns.
  std::vector<vk::HostCopy> copies(std::uint64_t first, std::uint64_t rows) const;
  /// Whether the device reads in place all that is not made on the way.
  bool is_pinned(vk::Device& device) const;
  /// A row among the copies made so far with a value of more words than its column's, the first of a table of which all
  /// are made.
  std::optional<std::uint64_t> wide_row() const noexcept;

 private:
  TableView table_;
  std::span<UploadColumn const> columns_;
  std::vector<vk::Buffer const*> targets_;
  std::atomic<std::uint64_t> wide_row_;                ///< the threads that make columns note it
  std::vector<std::unique_ptr<vk::HostSource>> made_;  ///< by column; null where the table has the words
};

}  // namespace garuda::device
