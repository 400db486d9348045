// The group-by of a table that lives on a device.
#pragma once

#include "garuda/device_table.hpp"
#include "garuda/error.hpp"
#include "operators/resolve/group_by_columns.hpp"

namespace garuda::device {

/// Groups. `columns`: resolved against the table's schema; `ordered`: as GroupBySpec has it. Blocks. Errors: those of
/// Engine::group_by of device tables.
Result<DeviceGroupBy> group_device_table(DeviceTable const& table, resolve::ResolvedGroupBy const& columns,
                                         bool ordered, DeviceGroupByOptions const& options);

}  // namespace garuda::device
