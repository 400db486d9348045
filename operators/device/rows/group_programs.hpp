// Expressions over the rows of a table, for group-bys of path graphics, whose vertices evaluate them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "expr/program.hpp"
#include "garuda/error.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/device/device_table.hpp"
#include "operators/device/rows/device_rows.hpp"
#include "operators/device/rows/read_columns.hpp"
#include "operators/graphics/rows/row_programs.hpp"

namespace garuda::device {

/// Whether group-bys on the device evaluate expressions as they draw.
bool draws_expressions(TableDevice const& device);

class GroupPrograms {
 public:
  /// Programs over the columns of `table`, which outlives this: a filter, and values, none of which is a string.
  /// Blocks. Errors: those of check_device_expression; those of device memory; cancelled.
  static Result<std::unique_ptr<GroupPrograms>> create(DeviceTableState const& table,
                                                       std::optional<expr::Expression> const& filter,
                                                       std::span<expr::Expression const> values,
                                                       RowsOptions const& options);

  /// Good as long as this.
  contract::RowExpressions const& expressions() const noexcept { return programs_; }

 private:
  std::unique_ptr<compute::ComputeLane> lane_;  // before what its memory holds
  std::vector<ReadColumns> read_;
  graphics::RowPrograms programs_;
};

}  // namespace garuda::device
