// The join of tables that live on a device.
#pragma once

#include "garuda/device_table.hpp"
#include "garuda/error.hpp"
#include "operators/rates/rates.hpp"
#include "operators/resolve/join_columns.hpp"

namespace garuda::device {

/// How device tables are joined, and what the device is known to do a second.
struct ResidentJoinRequest {
  bool ordered = false;
  DeviceJoinOptions const& options;
  rates::DeviceRates rates;
};

/// Joins. `columns`: resolved against the tables' schemas. Blocks. Errors: those of Engine::join of device tables.
Result<DeviceJoin> join_device_tables(DeviceTable const& left, DeviceTable const& right,
                                      resolve::ResolvedJoin const& columns, ResidentJoinRequest const& request);

}  // namespace garuda::device
