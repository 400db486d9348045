// A join or a group-by of generated tables, and what it must give: what every benchmark of an operator runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bench/record.hpp"
#include "bench/workloads/generators.hpp"
#include "bench/workloads/group_tables.hpp"
#include "bench/workloads/reference_join.hpp"
#include "garuda/engine.hpp"
#include "garuda/error.hpp"

namespace garuda::bench {

struct GroupByCase {
  GroupWorkload workload;
  std::vector<AggregateFunction> functions{AggregateFunction::sum};  ///< of the column v
};

using WorkloadSpec = std::variant<JoinWorkload, GroupByCase, NonEquiWorkload>;
void set_seed(WorkloadSpec& spec, std::uint64_t seed);

/// Left and right, or the one. Blocks. Errors: usage for what cannot be generated; out_of_memory.
Result<std::vector<Table>> generate_tables(WorkloadSpec const& spec);

/// Where the tables lie.
enum class TableMemory : std::uint8_t {
  ordinary,
  pinned,  ///< in memory that the device reads in place (Engine::pin)
  device,  ///< in memory of the device (Engine::upload), where the result stays, too
};

/// The kind of a join, and whether its rows are made or counted.
struct Query {
  JoinKind kind = JoinKind::inner;
  bool counts = false;  ///< the number of rows alone
};

/// The options of the operator that a workload runs.
using OperatorOptions = std::variant<JoinOptions, GroupByOptions>;
RunOptions& run_options(OperatorOptions& options);

template <class T>
std::vector<TableView> views_of(std::vector<T> const& tables) {
  std::vector<TableView> views;
  views.reserve(tables.size());
  for (auto const& table : tables) views.push_back(table.view());
  return views;
}

/// Tables and their reference. Does not move: the reference borrows the tables.
class Workload {
 public:
  /// Generates the tables from `seed`, the spec's own put aside, and computes the reference. Blocks.
  /// Errors: those of generate_tables(); out_of_memory also when tables, copies of them in pinned memory, reference
  /// and result do not fit into free memory.
  static Result<std::unique_ptr<Workload>> create(WorkloadSpec spec, std::uint64_t seed,
                                                  TableMemory memory = TableMemory::ordinary);

  JoinWorkload const* join() const noexcept { return std::get_if<JoinWorkload>(&spec_); }
  GroupByCase const* group_by() const noexcept { return std::get_if<GroupByCase>(&spec_); }
  NonEquiWorkload const* non_equi() const noexcept { return std::get_if<NonEquiWorkload>(&spec_); }
  /// The tables as generate_tables() gives them.
  std::vector<Table> const& tables() const noexcept { return tables_; }
  std::uint64_t rows_out(Query const& query = {}) const {
    return joined_ ? joined_->num_rows(query.kind) : grouped_->num_groups();
  }
  /// Rows of the result as a device would expect them, at least one: of an inner join of keys the most that there can
  /// be, of a group-by what a sample would estimate.
  std::uint64_t expected_rows(Query const& query = {}) const;

  /// A record with the workload's operation and rows.
  Record record(Query const& query = {}) const;
  /// Bytes of the tables and of a result with these columns, each once.
  std::uint64_t bytes(Schema const& result, Query const& query = {}) const;
  /// Compares a whole result, its rows in any order, with the reference. Errors: device_failure, saying what differs.
  Result<void> check(Schema const& schema, std::span<Batch const> batches, Query const& query = {}) const;
  /// Compares the number of rows alone. Errors: device_failure.
  Result<void> check_count(std::uint64_t rows, Query const& query) const;

  /// Errors: usage.
  Result<OperatorOptions> parse_options(std::string_view tuning) const;
  /// Joins or groups `tables`, which are copies of tables(), on a device or not, if not these.
  Result<std::unique_ptr<QueryResult>> start(Engine& engine, std::vector<TableView> const& tables,
                                             OperatorOptions const& options, Query const& query = {}) const;
  /// Counts the rows of a join of such tables.
  Result<Engine::Counted> count(Engine& engine, std::vector<TableView> const& tables, OperatorOptions const& options,
                                Query const& query) const;
  /// The plan that start() would run on tables().
  Result<Plan> explain(Engine& engine, OperatorOptions const& options) const;

 private:
  explicit Workload(WorkloadSpec spec) : spec_(std::move(spec)) {}
  std::vector<Aggregate> aggregates() const;
  JoinSpec join_spec(Query const& query) const;
  GroupBySpec group_by_spec() const;

  WorkloadSpec spec_;
  std::vector<Table> tables_;
  std::optional<ReferenceJoin> joined_;
  std::optional<ReferenceGroups> grouped_;
};

}  // namespace garuda::bench
