// A query with its names found and its types known: what runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "expr/program.hpp"
#include "garuda/condition.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/join.hpp"
#include "garuda/query.hpp"
#include "garuda/table.hpp"
#include "garuda/types.hpp"
#include "operators/pipeline/pipeline.hpp"
#include "operators/query/sort.hpp"

namespace garuda::query {

using pipeline::ProjectedColumn;

/// Names of columns between operators, which nobody sees: their positions, so that no two are equal.
std::string column_name(std::size_t position);
/// The inverse. Requires: such a name.
std::size_t column_position(std::string_view name);
std::vector<std::string> column_names(std::size_t columns);

struct BoundScan {
  TableView table;
  std::optional<FilesRead> files{};
};
struct BoundFilter {
  expr::Expression predicate;
};
struct BoundProject {
  std::vector<ProjectedColumn> columns;

  /// Whether it computes nothing.
  bool only_picks() const noexcept;
};
/// Columns of both inputs, then a boolean where the kind of join has a mark.
struct BoundJoin {
  JoinKind kind = JoinKind::inner;
  std::vector<std::pair<std::size_t, std::size_t>> keys;
  std::optional<Condition> where;
  bool nulls_equal = false;
  std::vector<std::size_t> left_columns;   ///< of the left input that the result has
  std::vector<std::size_t> right_columns;  ///< behind them; none where the kind of join has left rows alone
  Side build = Side::right;                ///< the side that has fewer rows, about
  /// A condition that `where` cannot say, over the columns of the left input, then those of the right one. It is tested
  /// on pairs with equal keys, of which there is one at least, by the host.
  std::optional<expr::Expression> pairs{};
};
/// The keys are the first columns of the input.
struct BoundGroupBy {
  std::size_t num_keys = 0;
  std::vector<Aggregate> aggregates;
};
struct BoundSort {
  std::vector<SortColumn> columns;
  std::optional<std::uint64_t> rows;  ///< of the result, at most
};
/// The columns of the input, then the number of each row.
using BoundNumber = RowNumbering;
struct BoundLimit {
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> rows;
};
struct BoundUnion {};

/// An operator with what feeds it. Columns are found by position; those of tables that run are named by column_name().
struct Bound {
  std::variant<BoundScan, BoundFilter, BoundProject, BoundJoin, BoundGroupBy, BoundSort, BoundNumber, BoundLimit,
               BoundUnion>
      operation;
  std::vector<Bound> inputs;
  Schema schema;  ///< of the result, with the names that the query gives
  /// Rows of the result, about, by samples of the tables; nullopt: not known (order_joins).
  std::optional<double> estimated_rows{};
};

/// Leaves out what no operator above reads: scans pick the columns that are wanted, projections compute no others. The
/// result has the same columns.
Bound prune(Bound query);

/// The columns that a query is bound over: those of its tables, or what these stand for (ScannedTable::fields).
enum class ScannedAs : std::uint8_t { stored, fields };

/// Errors: invalid_input and usage, as bind_expression, resolve_join and resolve_group_by have them, and for inputs of
/// a union that have other columns.
Result<Bound> bind(Query const& query, ScannedAs scanned = ScannedAs::stored);

}  // namespace garuda::query
