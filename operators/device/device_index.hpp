// Indexes of the columns of tables that live on a device.
#pragma once

#include <string>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/device/device_table.hpp"

namespace garuda::device {

/// See DeviceTable::build_index.
Result<void> build_index(DeviceTableState& table, std::string const& column, Control const& control);

/// Of a column, or of another one of the same values; nullptr: none is kept.
DeviceTableState::Index const* find_index(DeviceTableState const& table, DeviceTableState::Column const& column);

}  // namespace garuda::device
