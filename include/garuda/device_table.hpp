// Tables that stay in the memory of a device: uploaded once, joined and grouped as often as wanted, downloaded when
// wanted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/plan.hpp"
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

/// Columns in the memory of one device, owned. Made by Engine::upload, join and group_by; destroyed before its engine.
/// Move-only. Joining, grouping and downloading read it, from several threads at once if wanted.
class DeviceTable {
 public:
  DeviceTable(DeviceTable&&) noexcept;
  DeviceTable& operator=(DeviceTable&&) noexcept;
  ~DeviceTable();

  Schema const& schema() const noexcept;
  std::uint64_t num_rows() const noexcept;
  /// Index of its device among Engine::devices().
  std::uint32_t device() const noexcept;
  /// Device memory that its columns take.
  std::uint64_t device_bytes() const noexcept;

  /// Copies it to the host, into one batch. Blocks. Errors: out_of_memory, device_failure, cancelled.
  Result<Table> download(Control const& control = {}) const;

  /// The library's own.
  explicit DeviceTable(std::unique_ptr<device::DeviceTableState> state);
  device::DeviceTableState const& state() const noexcept { return *state_; }

 private:
  std::unique_ptr<device::DeviceTableState> state_;
};

/// How a group-by of a device table runs.
struct DeviceGroupByOptions {
  /// Of the compute path's passes, "grouping=shared|table|partitioned,…"; changes speed, never results.
  std::string tuning;
  std::uint64_t expected_groups = 0;  ///< about; 0: estimated from a sample. A wrong number costs time only
  /// Groups in the order of their keys, column by column, null first and NaN last; not beside GroupBySpec::ordered.
  bool by_key = false;
  std::uint64_t device_memory_limit_bytes = 0;  ///< for all but the result; 0: what there is
  Control control;
};

/// The groups, and what grouping took.
struct DeviceGroupBy {
  DeviceTable table;
  RunStats stats;
};

/// How a join of device tables runs.
struct DeviceJoinOptions {
  /// Of the compute path's passes, "partition_items=16,…"; changes speed, never results. "method=partitioned", "global"
  /// (the build side in an index, probe rows where they are) or "sorted" (both sides; rows come in the order of the
  /// keys, as unsigned numbers), and "payload=gather" (of partitioned: fetched once the rows are known) or carry
  /// (it moves with the keys); what is not said is chosen by cost.
  std::string tuning;
  std::uint64_t expected_rows =
      0;  ///< of the result, about; 0: estimated from a sample. A wrong number costs time only
  Control control;
};

/// A joined table, and what joining took.
struct DeviceJoin {
  DeviceTable table;
  RunStats stats;
  std::string way;  ///< as a tuning forces it: "method=partitioned,payload=carry"
};

}  // namespace garuda
