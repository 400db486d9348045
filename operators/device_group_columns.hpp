// Which columns a group-by on a device reads, and whether it can.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "garuda/error.hpp"
#include "operators/compute/device_values.hpp"
#include "operators/group_by_columns.hpp"

namespace garuda::operators {

/// How values of a type are read; nothing for types that are equal in other ways than their bits say.
std::optional<DeviceValueKind> device_value_kind(DataType const& type);

/// Whether tables of this schema can be grouped so on a device. Errors: invalid_input, with the reason.
Result<void> check_device_group_by(Schema const& schema, ResolvedGroupBy const& columns);

/// Columns that a group-by reads, each once, keys first.
std::vector<std::size_t> group_by_columns_used(ResolvedGroupBy const& columns);

}  // namespace garuda::operators
