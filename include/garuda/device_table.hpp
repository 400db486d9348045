// Tables that stay in the memory of a device: uploaded once, joined and grouped as often as wanted, downloaded when
// wanted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"

namespace garuda {

namespace device {
struct DeviceTableState;
}  // namespace device

/// Where a table goes.
struct DeviceTableOptions {
  std::optional<std::string> device;  ///< index or part of a name; nullopt: the engine's choice
  Control control;
};

/// Columns in the memory of one device, owned, of fixed width or of strings and binary; results share the strings of
/// the tables that they came from. Made by Engine::upload and QueryResult::take_device_table; destroyed before its
/// engine. Move-only. Joining, grouping and downloading read it, from several threads at once if wanted.
class DeviceTable {
 public:
  DeviceTable(DeviceTable&&) noexcept;
  DeviceTable& operator=(DeviceTable&&) noexcept;
  ~DeviceTable();

  Schema const& schema() const noexcept;
  std::uint64_t num_rows() const noexcept;
  /// Index of its device among Engine::devices().
  std::uint32_t device() const noexcept;
  /// Sorts the values of a column of integers, dates, times or decimals of up to 64 bits, and keeps them with an index
  /// in device memory, 8 to 12 bytes a row and an entry of four or eight: joins on the column (method=global) then look
  /// their rows up instead of sorting this table anew (He et al. 2008, index nested-loop join; Wu et al. 2025, §4.1).
  /// Plans price it. Nulls are left out. Once a column; a second call does nothing. Blocks; not while other calls read
  /// the table. Errors: invalid_input for an unknown column or another type; limit_exceeded (2^31 rows, 2^28 with
  /// nulls), out_of_memory, device_failure, cancelled.
  Result<void> build_index(std::string const& column, Control const& control = {});

  /// Device memory that its columns and indexes take, strings that it shares included.
  std::uint64_t device_bytes() const noexcept;

  /// Its columns as Engine::join and Engine::group_by take them, for tables of the same device. Valid while it lives,
  /// moved or not. Nothing else reads what is on a device.
  TableView view() const noexcept;

  /// Copies it to the host, into one batch, or as many as strings of 2^31 bytes a column fill. Blocks. Errors:
  /// out_of_memory, device_failure, cancelled.
  Result<Table> download(Control const& control = {}) const;

  /// The library's own.
  explicit DeviceTable(std::unique_ptr<device::DeviceTableState> state);
  device::DeviceTableState const& state() const noexcept { return *state_; }
  std::unique_ptr<device::DeviceTableState> take_state() && noexcept;

 private:
  std::unique_ptr<device::DeviceTableState> state_;
};

}  // namespace garuda
