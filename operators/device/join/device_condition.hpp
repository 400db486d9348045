// A condition on columns that live on a device, as its passes step through it.
#pragma once

#include <cstdint>
#include <vector>

#include "garuda/error.hpp"
#include "operators/device/device_table.hpp"
#include "operators/resolve/condition/condition_columns.hpp"

namespace garuda::device {

/// Whether a device compares these columns as they are kept there. Errors: invalid_input, with what it compares.
Result<void> check_device_condition(Schema const& left, Schema const& right,
                                    resolve::ResolvedCondition const& condition);

/// Steps of shaders::kStepWords words (filter_pairs_layout.h), which view the columns of both tables. Requires:
/// check_device_condition().
std::vector<std::uint32_t> condition_steps(DeviceTableState const& left, DeviceTableState const& right,
                                           resolve::ResolvedCondition const& condition);

}  // namespace garuda::device
