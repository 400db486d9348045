// The expressions of a group-by's rows, which vertices evaluate.
#pragma once

#include <optional>
#include <vector>

#include "operators/compute/expressions/expression_pass.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "vk_runtime/device/device_traits.hpp"

namespace garuda::graphics {

/// Steps over the columns of a table that lives on the device, where they stay as long as the group-by.
struct RowPrograms final : contract::RowExpressions {
  std::optional<compute::ExpressionSteps> filter;  ///< ends with ExpressionSteps::add_flags
  std::vector<compute::ExpressionSteps> values;    ///< each ends with ExpressionSteps::add_column
};

/// Whether group-bys on the device draw rows that are evaluated: where it blends, and addresses buffers.
bool draws_expressions(vk::DeviceTraits const& traits);

}  // namespace garuda::graphics
