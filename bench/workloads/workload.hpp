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

using WorkloadSpec = std::variant<JoinWorkload, GroupByCase>;
void set_seed(WorkloadSpec& spec, std::uint64_t seed);

/// Left and right, or the one. Blocks. Errors: usage for what cannot be generated; out_of_memory.
Result<std::vector<Table>> generate_tables(WorkloadSpec const& spec);

/// Where the tables lie.
enum class TableMemory : std::uint8_t {
  ordinary,
  pinned  ///< in memory that the device reads in place (Engine::pin)
};

/// The options of the operator that a workload runs.
using OperatorOptions = std::variant<JoinOptions, GroupByOptions>;
RunOptions& run_options(OperatorOptions& options);

std::vector<TableView> views_of(std::vector<Table> const& tables);

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
  /// As generate_tables() gives them.
  std::vector<Table> const& tables() const noexcept { return tables_; }
  std::uint64_t rows_out() const noexcept { return joined_ ? joined_->num_rows() : grouped_->num_groups(); }
  /// Rows of the result as a device would expect them: of a join the most that there can be, of a group-by what a
  /// sample would estimate.
  std::uint64_t expected_rows() const;

  /// What a record says of it: operation and rows.
  Record record() const;
  /// Bytes of the tables and of a result with these columns, each once.
  std::uint64_t bytes(Schema const& result) const;
  /// Compares a whole result, its rows in any order, with the reference. Errors: device_failure, saying what differs.
  Result<void> check(Schema const& schema, std::span<Batch const> batches) const;

  /// Errors: usage.
  Result<OperatorOptions> parse_options(std::string_view tuning) const;
  /// Joins or groups `tables`, which are copies of tables(), on a device or not, if not these.
  Result<std::unique_ptr<QueryResult>> start(Engine& engine, std::vector<TableView> const& tables,
                                             OperatorOptions const& options) const;
  /// What start() would do with tables().
  Result<Plan> explain(Engine& engine, OperatorOptions const& options) const;

 private:
  explicit Workload(WorkloadSpec spec) : spec_(std::move(spec)) {}
  std::vector<Aggregate> aggregates() const;
  static JoinSpec join_spec();
  GroupBySpec group_by_spec() const;

  WorkloadSpec spec_;
  std::vector<Table> tables_;
  std::optional<ReferenceJoin> joined_;
  std::optional<ReferenceGroups> grouped_;
};

}  // namespace garuda::bench
