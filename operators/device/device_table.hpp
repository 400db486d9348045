// The parts of a table on a device, and how tables get there and back.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/device_table.hpp"
#include "garuda/run.hpp"
#include "garuda/table.hpp"
#include "operators/contract/stats_sink.hpp"
#include "operators/device/column_upload.hpp"
#include "operators/device/device_types.hpp"
#include "operators/device/strings/stored_strings.hpp"
#include "operators/vulkan/vulkan_devices.hpp"
#include "vk_runtime/memory/copy_team.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::device {

struct StringNumbers;

/// A device that holds tables.
struct TableDevice {
  vulkan::VulkanDevice open;
  DeviceInfo const* info = nullptr;
};

/// Columns as the passes take them: `words` u32 words a value, narrow values in a word of their own, signed ones with
/// their sign, of strings and binary their numbers. Whether values are null is said by bits of a column of one word.
struct DeviceTableState {
  struct Stored {
    vk::Buffer buffer;  ///< none of a column of a result that no value needs
    std::uint32_t words = 1;
  };
  struct Column {
    std::size_t stored = 0;            ///< several columns may be the same values
    std::optional<std::size_t> nulls;  ///< among `stored`
    std::uint32_t null_bit = 0;
    std::shared_ptr<Strings const> strings{};  ///< of which the values are numbers; nullptr: values are themselves

    friend bool operator==(Column const&, Column const&) = default;
  };
  /// A column's values in their order, kept for joins that look rows up in them.
  struct Index {
    Column column;
    compute::KeyIndex view;                  ///< without rows where no value is there
    std::unique_ptr<vk::MemoryArena> arena;  // before the buffers: destroyed after them
    vk::Buffer keys;
    vk::Buffer numbers;
    vk::Buffer entries;
  };
  /// Facts of a column's values, which never change.
  struct Values {
    Column column;
    compute::ValueRange range;                 ///< of values of up to 64 bits
    std::optional<bool> are_unique{};          ///< beside nulls
    std::optional<compute::WideRange> wide{};  ///< of decimals of more
  };
  /// Facts of values that were asked for; several threads may ask.
  struct KnownValues {
    std::mutex mutex;
    std::vector<Values> list;
    std::vector<std::shared_ptr<StringNumbers const>> strings;
  };

  /// The words of a column, of strings their numbers, as passes read them.
  compute::DeviceColumn words(std::size_t column) const {
    auto const& from = stored[columns[column].stored];
    return {from.buffer.address(), from.words};
  }
  /// Which rows of a column are null; nothing: none is.
  std::optional<compute::NullFlags> nulls(std::size_t column) const {
    auto const& from = columns[column];
    if (!from.nulls) return std::nullopt;
    return compute::NullFlags{stored[*from.nulls].buffer.address(), from.null_bit};
  }
  /// A column's values, read as `kind`, and its nulls.
  compute::DeviceValues values(std::size_t column, compute::DeviceValueKind kind) const {
    auto const flags = nulls(column);
    return {words(column), kind, flags ? flags->words : 0, flags ? std::uint32_t{1} << flags->bit : 0};
  }

  Schema schema;
  std::uint64_t rows = 0;
  TableDevice device;
  std::unique_ptr<vk::MemoryArena> arena;  // before the buffers: destroyed after them
  std::vector<Stored> stored;
  std::vector<Column> columns;
  std::vector<Index> indexes;
  mutable KnownValues known;
  std::vector<ArrayView> shown;  ///< by column, what a view of the table has: where it is, and no bytes
  BatchView batch;
};

/// Device bytes of the table's columns, and of the strings that they are numbers of, each once.
std::uint64_t bytes_of(DeviceTableState const& table) noexcept;

/// The device that a table lives on; nullopt: the host.
inline std::optional<std::size_t> device_of(TableView table) {
  return table.resident() != nullptr ? std::optional<std::size_t>(table.resident()->device.info->index) : std::nullopt;
}

/// The query's limit of device memory (0: none) where tables of so many bytes lie there already.
std::uint64_t limit_beside(RunOptions const& options, std::uint64_t bytes) noexcept;

/// An arena for columns of so many bytes in all.
std::unique_ptr<vk::MemoryArena> column_arena(vk::Device& device, std::uint64_t bytes);

/// Device memory from the table's arena for a column of all its rows. Errors: out_of_memory.
Result<DeviceTableState::Stored> take_column(DeviceTableState& table, std::uint32_t words,
                                             vk::MemoryUse use = vk::MemoryUse::device);

/// How columns go up: by what way, and threads.
struct UploadOptions {
  Upload upload = Upload::automatic;
  std::uint32_t threads = vk::kMostStreamingThreads;
  Control control;
  contract::StatsSink* stats = nullptr;
  std::uint64_t most_string_bytes = kMostStringBytes;  ///< of strings that lie together; lower values serve tests
};

/// A table of the host as it lies on a device once it is brought there: what of it goes up, and where that comes to
/// lie.
struct LaidOutTable {
  std::unique_ptr<DeviceTableState> state;  ///< without memory before take_columns()
  std::vector<UploadColumn> columns;        ///< as stored; behind them stand the numbers of strings
};

/// Lays out columns of `table`, in the order of `wanted`. `key_words`: the first is a key that is compared in so many
/// words; 0: it has its type's. Reads null counts. Errors: invalid_input for a column of another type than a device
/// keeps, naming it.
Result<LaidOutTable> lay_out_table(TableView table, std::span<std::size_t const> wanted, TableDevice const& device,
                                   std::uint32_t key_words = 0);

/// Takes device memory for all columns but strings, which the host writes by itself where `upload` says so. Errors:
/// those of device memory.
Result<void> take_columns(LaidOutTable& table, Upload upload);

/// Copies columns of `table`, in the order of `wanted`, to the device; blocks. Errors: those of lay_out_table() and of
/// device memory; cancelled.
Result<DeviceTable> upload_table(TableView table, std::span<std::size_t const> wanted, TableDevice const& device,
                                 UploadOptions const& options);

struct DownloadedColumns {
  Table table;
  std::uint64_t bytes = 0;  ///< that were brought down
};

/// Copies columns of a table, in the order of `columns`, to the host, into one batch, or as many as strings of 2^31
/// bytes a column fill; blocks. Errors: out_of_memory, device_failure, cancelled.
Result<DownloadedColumns> download_columns(DeviceTableState const& table, std::span<std::size_t const> columns,
                                           Control const& control);

/// Every column of the table, in order.
std::vector<std::size_t> all_columns(DeviceTableState const& table);

}  // namespace garuda::device
