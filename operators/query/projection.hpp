// Filters and projections over the rows of a table.
#pragma once

#include <span>

#include "expr/program.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/query/bind.hpp"

namespace garuda::query {

/// The rows of `table` for which `predicate`, a boolean over its columns, is true, in their order. Blocks; runs on the
/// threads of the calling task arena. Errors: those of Evaluator::run and Gatherer::gather; out_of_memory, cancelled.
Result<Table> filter_rows(TableView table, expr::Expression const& predicate, Control const& control);

/// A column each of `columns`, of all rows: shared where it is one of the table's. Blocks; runs likewise.
/// Errors: those of Evaluator::run; out_of_memory, cancelled.
Result<Table> project_rows(TableView table, std::span<ProjectedColumn const> columns, Control const& control);

}  // namespace garuda::query
