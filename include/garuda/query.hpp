// A query as a tree of operators over tables: what it gives, not how it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/expression.hpp"
#include "garuda/group_by.hpp"
#include "garuda/join.hpp"
#include "garuda/row_test.hpp"
#include "garuda/run.hpp"
#include "garuda/table.hpp"

namespace garuda {

/// A column of a result: a value, and its name.
struct NamedExpression {
  std::string name;
  ScalarExpression value;
};

/// Rows ascend by the value, or descend; nulls come last, or first.
struct SortKey {
  ScalarExpression value;
  bool descending = false;
  bool nulls_first = false;
};

/// An aggregate of a group: `function` of the values of its arguments, as Aggregate has it of columns.
struct AggregateCall {
  std::string name;
  AggregateFunction function = AggregateFunction::count;
  std::vector<ScalarExpression> arguments;  ///< none: rows, for count only; two of covar, corr, arg_min and arg_max
  bool distinct = false;                    ///< each value once: of count, sum, mean and product
  std::optional<ScalarExpression> where{};  ///< rows for which it is not true take no part
  double quantile = 0.5;
  std::uint64_t most = 1;
};

/// Which rows of two inputs match.
struct JoinClause {
  JoinKind kind = JoinKind::inner;
  /// Values of the left and of the right input that must be equal.
  std::vector<std::pair<ScalarExpression, ScalarExpression>> on;
  /// A further condition of a match; its columns are those of the left input, then those of the right one.
  std::optional<ScalarExpression> where{};
  bool nulls_equal = false;
};

struct QueryOptions;

/// Rows in a form that is smaller than what they stand for: that of their files, or that of `store`.
struct StoredTable {
  Table table;
  Schema fields;  ///< The columns of the table stand for these (ScannedTable::fields).
  std::optional<FilesRead> files{};
};

/// A table that a query reads when it runs, such as that of a file: of its columns and rows those that it needs.
/// Thread-safe.
class TableSource {
 public:
  using Rows = StoredTable;

  virtual ~TableSource() = default;
  /// Reads `columns`, of rows those that pass `rows` and as many others as it likes. The table has all columns of the
  /// scan in their order; those that were not asked for need no buffers. Blocks; looks at the control of `options`, and
  /// under their memory limit keeps no rows in memory. Errors: its own, as the query's.
  virtual Result<Rows> read(std::vector<std::string> const& columns, RowTest const& rows,
                            QueryOptions const& options) const = 0;
};

/// The rows of a scan. The table, and the fields, must outlive the results of queries.
struct ScannedTable {
  ScannedTable() = default;
  ScannedTable(TableView rows) : table(rows) {}  // NOLINT: a table in memory is all that most queries scan
  explicit ScannedTable(StoredTable const& stored)
      : table(stored.table.view()), files(stored.files), fields(&stored.fields) {}

  TableView table;
  std::optional<FilesRead> files{};  ///< The share of its files that was read, for plans and statistics to say.
  /// The columns as results have them, where `table` has some in a smaller form: strings as codes of a dictionary,
  /// decimals in fewer bits. nullptr: as `table` has them.
  Schema const* fields = nullptr;
  /// Reads the rows when the query runs, and lives as long as the query; `table` is then one of its own that has the
  /// columns and no rows. nullptr: `table` has the rows.
  std::shared_ptr<TableSource const> source{};
};

/// A node of a query with all that is below it. Copies share it. The tables of its scans must outlive its results, but
/// for those that are read when it runs.
class Query {
 public:
  using Scan = ScannedTable;
  struct Filter {
    ScalarExpression predicate;
  };
  struct Project {
    std::vector<NamedExpression> columns;
  };
  struct Join {
    JoinClause clause;
  };
  struct GroupBy {
    std::vector<NamedExpression> keys;
    std::vector<AggregateCall> aggregates;
  };
  struct Sort {
    std::vector<SortKey> keys;
  };
  struct NumberRows {
    std::string name;
    std::vector<ScalarExpression> partition;
    std::vector<SortKey> keys;
  };
  struct Limit {
    std::uint64_t offset = 0;
    std::optional<std::uint64_t> rows;
  };
  struct Distinct {};
  struct UnionAll {};
  using Operator = std::variant<Scan, Filter, Project, Join, GroupBy, Sort, NumberRows, Limit, Distinct, UnionAll>;

  struct Node {
    Operator operation;
    std::vector<Query> inputs;
  };

  /// A query of a node.
  static Query of(Node node) { return Query(std::move(node)); }
  /// The rows of a table.
  static Query scan(ScannedTable table);
  /// The rows of the inputs one after the other, their columns widened to types that hold the values of all. The names
  /// are those of the first input. Requires: there is one.
  static Query union_all(std::vector<Query> inputs);

  /// The rows for which `predicate` is true.
  Query filter(ScalarExpression predicate) const;
  /// The values of `columns`, and nothing else.
  Query project(std::vector<NamedExpression> columns) const;
  /// The columns of this query and those of `right`, of pairs of rows that match; semi, anti and mark joins have those
  /// of this query, mark joins a boolean `mark` behind them. Both keys of a pair stay columns of their own.
  Query join(Query right, JoinClause clause) const;
  /// A row for each distinct list of key values, nulls being equal: the keys, then the aggregates. No keys: one row.
  Query group_by(std::vector<NamedExpression> keys, std::vector<AggregateCall> aggregates) const;
  /// The distinct rows.
  Query distinct() const;
  /// The rows in order; ties are broken by the columns from left to right, ascending, nulls last.
  Query sort(std::vector<SortKey> keys) const;
  /// The rows with a column more, `name`: their numbers, from 1 on, among the rows with equal values of `partition`, in
  /// the order of `keys`, whose ties are broken as sort() does.
  Query number_rows(std::string name, std::vector<ScalarExpression> partition, std::vector<SortKey> keys) const;
  /// At most `rows` rows behind the first `offset` ones.
  Query limit(std::optional<std::uint64_t> rows, std::uint64_t offset = 0) const;

  Node const& node() const noexcept { return *node_; }

 private:
  explicit Query(Node node) : node_(std::make_shared<Node const>(std::move(node))) {}

  std::shared_ptr<Node const> node_;
};

/// How and where a query runs; changes speed and resources, never its result. Joins and group-bys among its operators
/// run on `path`, and so do filters and projections on paths compute and graphics, or of tables on a device; the others
/// run on the host, and so do joins without keys where `path` joins by keys alone.
struct QueryOptions : RunOptions {
  JoinTuning join_tuning;
  GroupByTuning group_by_tuning;
  /// Whether an operator that computes on the host is an error where `path` names one of devices.
  bool strict = false;
  /// Where rows go that `memory_limit_bytes` has no room for; nullopt: $TMPDIR, or what the system names.
  std::optional<std::filesystem::path> temp_folder{};
};

}  // namespace garuda
