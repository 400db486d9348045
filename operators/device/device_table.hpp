// What a table on a device consists of, and how tables get there and back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/device_table.hpp"
#include "operators/contract/device_set.hpp"
#include "vk_runtime/copy_team.hpp"
#include "vk_runtime/memory.hpp"

namespace garuda::device {

/// A device that holds tables.
struct TableDevice {
  contract::OpenDevice open;
  DeviceInfo const* info = nullptr;
};

/// Columns as the passes take them: `words` u32 words a value, narrow values in a word of their own, signed ones with
/// their sign. Whether values are
/// null is said by bits of a column of one word.
struct DeviceTableState {
  struct Stored {
    vk::Buffer buffer;
    std::uint32_t words = 1;
  };
  struct Column {
    std::size_t stored = 0;            ///< several columns may be the same values
    std::optional<std::size_t> nulls;  ///< among `stored`
    std::uint32_t null_bit = 0;
  };

  Schema schema;
  std::uint64_t rows = 0;
  TableDevice device;
  std::unique_ptr<vk::MemoryArena> arena;  // before the buffers: destroyed after them
  std::vector<Stored> stored;
  std::vector<Column> columns;
};

/// u32 words that a value takes on a device; nothing for a type that cannot go there.
std::optional<std::uint32_t> device_words(DataType const& type) noexcept;

/// u32 words, 1 or 2, in which a join on a device compares keys of a type that common_key_type() gave.
std::uint32_t device_key_words(DataType const& common) noexcept;

/// An arena for columns of so many bytes in all.
std::unique_ptr<vk::MemoryArena> column_arena(vk::Device& device, std::uint64_t bytes);

/// Threads that copy a table up, and how.
struct TeamUpload {
  std::unique_ptr<vk::CopyTeam> team;  ///< nullptr: the calling thread copies
  vk::UploadMode mode = vk::UploadMode::stage;
};

/// Copies `table` to the device; blocks. Errors: invalid_input for a column of variable width or a dictionary, naming
/// it; those of device memory; cancelled.
Result<DeviceTable> upload_table(TableView table, TableDevice const& device, Control const& control,
                                 TeamUpload team = {});

/// Whether all that upload_table would copy as it is lies in memory that the device reads in place.
bool reads_in_place(TableView table, vk::Device& device);

/// Rows of a device table on their way to the host. Refers to the table.
class RangeDownload {
 public:
  RangeDownload() = default;
  /// Takes host memory for the rows [first, first + rows). Errors: out_of_memory.
  static Result<RangeDownload> create(DeviceTableState const& table, std::uint64_t first, std::uint64_t rows);

  /// What is to be copied; the memory stays in place when this moves.
  std::vector<vk::HostCopy> copies();
  /// The rows, once copied; called once. Errors: out_of_memory.
  Result<Batch> finish();

  std::uint64_t rows() const noexcept { return rows_; }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  Result<ArrayView> column(std::size_t column);

  DeviceTableState const* table_ = nullptr;
  std::uint64_t first_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<AlignedBuffer> words_;  ///< by stored column
  std::vector<AlignedBuffer> converted_;
};

}  // namespace garuda::device
