// The columns of a table on a device, as the steps of expressions read them.
#pragma once

#include <cstddef>
#include <vector>

#include "expr/program.hpp"
#include "garuda/error.hpp"
#include "garuda/types.hpp"
#include "operators/compute/expressions/expression_pass.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/strings/device_strings.hpp"
#include "operators/device/device_table.hpp"

namespace garuda::device {

/// The types of the columns that an expression reads, by position; others have any.
std::vector<DataType> read_types_of(expr::Expression const& expression, std::size_t num_columns);

/// Columns as steps read them, and where the strings lie that some of them are numbers of. The memory is of the
/// context.
struct ReadColumns {
  std::vector<compute::ExpressionInput> inputs;
  std::vector<compute::DeviceStrings> strings;
};

/// `types`: of the columns that are read, as read_types_of has them. Errors: those of view_of.
Result<ReadColumns> read_columns(compute::ComputeContext& context, DeviceTableState const& table,
                                 std::vector<DataType> const& types);

}  // namespace garuda::device
