// Rows of a table on a device on their way to the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/device/device_table.hpp"
#include "operators/device/strings/string_download.hpp"
#include "vk_runtime/memory/copy_team.hpp"

namespace garuda::device {

/// One range of rows. Refers to the table.
class RangeDownload {
 public:
  RangeDownload() = default;
  /// Takes host memory for the rows [first, first + rows) of `columns`, by which the batch will have them. `strings`:
  /// of these rows. Errors: out_of_memory.
  static Result<RangeDownload> create(DeviceTableState const& table, std::vector<std::size_t> columns,
                                      std::uint64_t first, std::uint64_t rows, GatheredColumns strings);

  /// What is to be copied; the memory stays in place when this moves.
  std::vector<vk::HostCopy> copies();
  /// The rows, once copied; called once. Errors: out_of_memory.
  Result<Batch> finish();

  std::uint64_t rows() const noexcept { return rows_; }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  Result<ArrayView> column(std::size_t position, DownloadedMemory& memory);

  DeviceTableState const* table_ = nullptr;
  std::vector<std::size_t> columns_;
  GatheredColumns strings_;
  std::uint64_t first_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<AlignedBuffer> words_;  ///< by stored column; empty for those that no column is
};

}  // namespace garuda::device
