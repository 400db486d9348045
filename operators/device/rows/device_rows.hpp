// Rows of tables on a device that an expression leaves, and columns that expressions make of them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "expr/program.hpp"
#include "garuda/control.hpp"
#include "garuda/device_table.hpp"
#include "garuda/error.hpp"
#include "garuda/types.hpp"
#include "operators/contract/stats_sink.hpp"
#include "operators/device/device_table.hpp"

namespace garuda::device {

/// A column of a result: one of the table's, by its position, or the values of an expression over the table's columns.
using DeviceExpression = std::variant<std::size_t, expr::Expression>;

/// How passes over rows run.
struct RowsOptions {
  Control control;
  contract::StatsSink* stats = nullptr;
  std::uint64_t memory_limit_bytes = 0;  ///< of device memory, for all but the result; 0: what there is
  bool draws = false;                    ///< expressions are evaluated by vertices of points, else by compute passes
};

/// Whether passes evaluate an expression over `num_columns` columns. Errors: invalid_input, with the reason.
Result<void> check_device_expression(expr::Expression const& expression, std::size_t num_columns);

/// The rows for which `predicate` is true, in their order, with the columns of `kept`, in that order. nullopt: a row
/// has a value that passes do not compute, or none and asks for one: the host knows which. Blocks. Errors: those of
/// check_device_expression; limit_exceeded beyond 2^28 rows; those of device memory; cancelled.
Result<std::optional<DeviceTable>> filter_device_table(DeviceTableState const& table, expr::Expression const& predicate,
                                                       std::span<std::size_t const> kept, RowsOptions const& options);

/// The columns for all rows, named by `schema`, as many. The table's own are not copied: the result takes the memory of
/// `table`. nullopt, and errors: as above.
Result<std::optional<DeviceTable>> project_device_table(DeviceTable table, std::span<DeviceExpression const> columns,
                                                        Schema schema, RowsOptions const& options);

/// A table with copies of some columns, in the order of `columns`. Errors: those of device memory; cancelled.
Result<DeviceTable> copy_columns(DeviceTableState const& table, std::span<std::size_t const> columns,
                                 RowsOptions const& options);

}  // namespace garuda::device
