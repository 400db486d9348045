// The way of a range of a table on a device to the host. Strings are gathered there by row, so that only their own
// bytes come down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/variable_value.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/compute/strings/device_strings.hpp"
#include "operators/contract/stats_sink.hpp"
#include "operators/device/device_table.hpp"
#include "operators/materialize/column_words.hpp"
#include "vk_runtime/memory/copy_team.hpp"
#include "vk_runtime/memory/pinned_memory.hpp"

namespace garuda::device {

/// Memory that downloaded columns keep alive. Does not move once they are made.
struct DownloadedMemory {
  std::vector<AlignedBuffer> buffers;
  std::deque<ViewedBytes> viewed;
  std::vector<std::shared_ptr<ArrayView const>> dictionaries;
};

/// The strings of a range of rows of one column, behind one another.
struct GatheredStrings {
  std::unique_ptr<vk::MemoryArena> arena;  // before the buffers: destroyed after them
  vk::Buffer offsets;
  vk::Buffer bytes;  ///< none of strings without bytes
  std::uint64_t num_bytes = 0;
  AlignedBuffer host_offsets;
  AlignedBuffer host_bytes;

  /// Adds the copies to be made; the memory stays in place when this moves.
  void add_copies(std::uint64_t rows, std::vector<vk::HostCopy>& copies);
  /// The rows as an array of `type`, once copied; called once. `column`: their nulls. Errors: out_of_memory.
  Result<ArrayView> array(std::uint64_t rows, DataType const& type, materialize::ColumnWords const& column,
                          DownloadedMemory& memory);
};

/// By position among the columns that come down; nothing of those that are no strings, and of dictionaries' codes.
using GatheredColumns = std::vector<std::optional<GatheredStrings>>;

/// Gathers the strings of one range of a table after the other.
class StringDownload {
 public:
  /// Downloads ranges of up to `rows` rows, at most kMaxScanElements. Table and context outlive this. Errors:
  /// out_of_memory.
  static Result<StringDownload> create(compute::ComputeContext& context, DeviceTableState const& table,
                                       std::span<std::size_t const> columns, std::uint64_t rows);

  /// Gathers the rows [first, first + rows), or half of them as often as it takes for the strings of each column to
  /// have at most `most_bytes` bytes; sets `rows` to their number. Waits. Errors: limit_exceeded for a string of more
  /// bytes; out_of_memory, device_failure, cancelled.
  Result<GatheredColumns> gather(std::uint64_t first, std::uint64_t& rows, std::uint64_t most_bytes);

 private:
  struct Column {
    std::size_t column = 0;  ///< of the table
    std::size_t position = 0;
    compute::DeviceStrings strings;
  };

  compute::StringRows rows_of(Column const& column, std::uint64_t first, std::uint64_t rows) const;
  Result<void> gather_column(Column const& column, compute::StringRows const& rows, GatheredStrings& gathered);

  compute::ComputeContext* context_ = nullptr;
  DeviceTableState const* table_ = nullptr;
  std::size_t num_columns_ = 0;
  std::vector<Column> columns_;
  std::optional<compute::StringGather> gather_;
};

/// The rows [first, first + count) of columns of a table, in the order in which the batch will have them.
struct DownloadedRange {
  std::vector<std::size_t> columns;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// One range of rows. Refers to the table.
class RangeDownload {
 public:
  RangeDownload() = default;
  /// Takes host memory. `strings`: those of the range; empty where no column has any. `pinned`: takes memory that this
  /// device writes in place, where there is some. Errors: out_of_memory.
  static Result<RangeDownload> create(DeviceTableState const& table, DownloadedRange range, GatheredColumns strings,
                                      vk::Device* pinned = nullptr);

  /// The copies to be made; the memory stays in place when this moves.
  std::vector<vk::HostCopy> copies();
  /// Has `team` copy it, on the device after `after`.
  void start(vk::CopyTeam& team, vk::Ticket after) { group_ = team.start(copies(), after); }
  /// Waits for these copies and reports them. Errors: those of the copies.
  Result<void> await(vk::CopyTeam& team, contract::StatsSink& stats);
  /// The rows, once copied; called once. Errors: out_of_memory.
  Result<Batch> finish();

  bool is_pinned() const noexcept { return block_->pinned.data() != nullptr; }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  /// Host memory of all words that come down; the other one is empty.
  struct Block {
    AlignedBuffer ordinary;
    vk::PinnedMemory pinned;
    DownloadedMemory made;  ///< of them
  };

  Result<void> take_words(vk::Device* pinned);
  Result<ArrayView> column(std::size_t position);

  DeviceTableState const* table_ = nullptr;
  DownloadedRange range_;
  GatheredColumns strings_;
  std::uint64_t bytes_ = 0;
  std::shared_ptr<Block> block_;
  std::vector<std::byte*> words_;  ///< by stored column; nullptr for those that no column is
  std::shared_ptr<vk::CopyGroup> group_;
};

}  // namespace garuda::device
