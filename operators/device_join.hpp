// The join of tables that live on a device.
#pragma once

#include "garuda/device_table.hpp"
#include "garuda/error.hpp"
#include "operators/calibration/rates.hpp"
#include "operators/join_columns.hpp"

namespace garuda::operators {

/// How device tables are joined, and what the device is known to do a second.
struct ResidentJoinRequest {
  bool ordered = false;
  DeviceJoinOptions const& options;
  calibration::DeviceRates rates;
};

/// Joins. `columns`: resolved against the tables' schemas. Blocks. Errors: those of Engine::join of device tables.
Result<DeviceJoin> join_device_tables(DeviceTable const& left, DeviceTable const& right, ResolvedJoin const& columns,
                                      ResidentJoinRequest const& request);

}  // namespace garuda::operators
