// The group-by of a table that lives on a device.
#pragma once

#include <cstdint>

#include "garuda/device_table.hpp"
#include "garuda/error.hpp"
#include "operators/contract/stats_sink.hpp"
#include "operators/device/device_table.hpp"
#include "operators/resolve/group_by_columns.hpp"

namespace garuda::device {

inline constexpr std::uint64_t kMostGroupedRows = std::uint64_t{1} << 30;

/// Groups. `columns`: resolved against the table's schema; `ordered`: as GroupBySpec has it; of `options`: the tuning's
/// method, the expected rows, the device memory for all but the result, the control. Blocks. Errors: those of
/// Engine::group_by of tables on a device.
Result<DeviceTable> group_device_table(DeviceTableState const& table, resolve::ResolvedGroupBy const& columns,
                                       bool ordered, GroupByOptions const& options, contract::StatsSink& stats);

}  // namespace garuda::device
