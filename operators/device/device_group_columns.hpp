// Which columns a group-by on a device reads, and whether it can.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "garuda/error.hpp"
#include "operators/compute/group_by/device_values.hpp"
#include "operators/resolve/group_by_columns.hpp"

namespace garuda::device {

/// How values of a type are read; nothing for types that are equal in other ways than their bits say.
std::optional<compute::DeviceValueKind> device_value_kind(DataType const& type);

/// The same of keys.
std::optional<compute::DeviceValueKind> device_key_kind(DataType const& type);

/// Whether tables of this schema that live on a device can be grouped so there. Errors: invalid_input, with the reason.
Result<void> check_device_group_by(Schema const& schema, resolve::ResolvedGroupBy const& columns);

/// Columns that a group-by reads, each once, keys first.
std::vector<std::size_t> group_by_columns_used(resolve::ResolvedGroupBy const& columns);

}  // namespace garuda::device
