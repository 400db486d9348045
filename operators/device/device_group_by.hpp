// The group-by of a table that lives on a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "garuda/device_table.hpp"
#include "garuda/error.hpp"
#include "operators/contract/stats_sink.hpp"
#include "operators/device/device_table.hpp"
#include "operators/resolve/group_by_columns.hpp"

namespace garuda::device {

inline constexpr std::uint64_t kMostGroupedRows = std::uint64_t{1} << 30;

/// Whether tables of this schema that live on a device can be grouped so there. Errors: invalid_input, with the reason.
Result<void> check_device_group_by(Schema const& schema, resolve::ResolvedGroupBy const& columns);

/// Columns that a group-by reads, each once, keys first.
std::vector<std::size_t> group_by_columns_used(resolve::ResolvedGroupBy const& columns);

/// Groups. `columns`: resolved against the table's schema; `ordered`: as GroupBySpec has it; of `options`: the tuning's
/// method, the expected rows, the device memory for all but the result, the control. Blocks. Errors: those of
/// Engine::group_by of tables on a device.
Result<DeviceTable> group_device_table(DeviceTableState const& table, resolve::ResolvedGroupBy const& columns,
                                       bool ordered, GroupByOptions const& options, contract::StatsSink& stats);

}  // namespace garuda::device
