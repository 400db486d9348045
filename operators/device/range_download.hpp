// Rows of a table on a device on their way to the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/contract/stats_sink.hpp"
#include "operators/device/device_table.hpp"
#include "operators/device/strings/string_download.hpp"
#include "vk_runtime/memory/copy_team.hpp"
#include "vk_runtime/memory/pinned_memory.hpp"

namespace garuda::device {

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

  /// What is to be copied; the memory stays in place when this moves.
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
