#include "operators/query/run_query.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "operators/group_by/group_by.hpp"
#include "operators/join/join.hpp"
#include "operators/query/bind.hpp"
#include "operators/query/bind_join.hpp"
#include "operators/query/projection.hpp"
#include "operators/query/relation.hpp"
#include "operators/query/sort.hpp"
#include "operators/resolve/group_by_columns.hpp"
#include "operators/resolve/join_columns.hpp"
#include "operators/run/query_run.hpp"

namespace garuda::query {
namespace {

/// The rows that an operator gave, and how.
struct Ran {
  Table table;
  Plan plan;
};

/// The same rows, their columns named by their positions.
Table with_positions(Table table) {
  auto schema = table.schema();
  for (std::size_t c = 0; c < schema.size(); ++c) schema[c].name = column_name(c);
  return {std::move(schema), {table.batches().begin(), table.batches().end()}};
}

/// The name of an operator in plans and statistics, and its work in words.
struct Described {
  std::string operation;
  std::string text;
};

std::string listed(std::vector<ProjectedColumn> const& columns, Schema const& input) {
  std::string text;
  for (auto const& column : columns) {
    auto const* const position = std::get_if<std::size_t>(&column);
    text += fmt::format("{}{}", text.empty() ? "" : ", ",
                        position != nullptr ? input[*position].name : to_string(std::get<expr::Expression>(column)));
  }
  return text;
}

Described describe(Bound const& query) {
  auto const& operation = query.operation;
  if (std::holds_alternative<BoundScan>(operation)) return {"table", {}};
  auto const& input = query.inputs[0].schema;
  if (auto const* const filter = std::get_if<BoundFilter>(&operation)) return {"filter", to_string(filter->predicate)};
  if (auto const* const project = std::get_if<BoundProject>(&operation))
    return {"project", listed(project->columns, input)};
  if (auto const* const join = std::get_if<BoundJoin>(&operation)) {
    std::string keys;
    for (auto const& [left, right] : join->keys)
      keys += fmt::format("{}{} = {}", keys.empty() ? "" : ", ", input[left].name, query.inputs[1].schema[right].name);
    return {"join", fmt::format("{}: {}", to_string(join->kind), keys)};
  }
  if (auto const* const group_by = std::get_if<BoundGroupBy>(&operation))
    return {"group-by", fmt::format("{} keys, {} aggregates", group_by->num_keys, group_by->aggregates.size())};
  if (auto const* const sort = std::get_if<BoundSort>(&operation)) {
    std::string keys;
    for (auto const& [column, descending, nulls_first] : sort->columns)
      keys += fmt::format("{}{}{}", keys.empty() ? "" : ", ", input[column].name, descending ? " descending" : "");
    return {"sort", std::move(keys)};
  }
  if (auto const* const limit = std::get_if<BoundLimit>(&operation))
    return {"limit",
            fmt::format("{} rows behind {}", limit->rows ? std::to_string(*limit->rows) : "all", limit->offset)};
  return {"union", {}};
}

/// The plan of an operator of the host, without those of its inputs.
Plan node_of(Bound const& query) {
  Plan plan;
  auto [operation, text] = describe(query);
  plan.operation = std::move(operation);
  plan.device = "host";
  plan.choices = std::move(text);
  return plan;
}

Plan plan_of(Bound const& query) {
  auto plan = node_of(query);
  if (auto const* const scan = std::get_if<BoundScan>(&query.operation))
    plan.estimated_rows = static_cast<double>(scan->table.num_rows());
  for (auto const& input : query.inputs) plan.inputs.push_back(plan_of(input));
  return plan;
}

/// Runs the operators of one query, those that feed an operator before it.
class QueryRunner {
 public:
  QueryRunner(QueryOptions const& options, contract::DeviceSet& devices, run::QueryRun& run)
      : options_(options), devices_(devices), run_(run) {}

  Result<Ran> run(Bound const& query) {
    std::vector<Ran> inputs;
    for (auto const& input : query.inputs) {
      GARUDA_TRY_ASSIGN(auto ran, run(input));
      inputs.push_back(std::move(ran));
    }
    if (auto const* const join = std::get_if<BoundJoin>(&query.operation)) return run_join(*join, std::move(inputs));
    if (auto const* const group_by = std::get_if<BoundGroupBy>(&query.operation))
      return run_group_by(*group_by, std::move(inputs));
    auto plan = node_of(query);
    run::PhaseTimer const timer(run_.recorder, plan.operation);
    GARUDA_TRY_ASSIGN(auto table, run_.arena.execute([&] { return run_on_host(query, inputs); }));
    plan.estimated_rows = static_cast<double>(table.num_rows());
    for (auto& input : inputs) plan.inputs.push_back(std::move(input.plan));
    return Ran{std::move(table), std::move(plan)};
  }

 private:
  Result<Table> run_on_host(Bound const& query, std::vector<Ran> const& inputs) {
    auto const& control = options_.control;
    auto const& operation = query.operation;
    if (auto const* const scan = std::get_if<BoundScan>(&operation))
      return project_rows(scan->table, first_columns(scan->table.num_columns()).columns, control);
    auto const input = inputs[0].table.view();
    if (auto const* const filter = std::get_if<BoundFilter>(&operation))
      return filter_rows(input, filter->predicate, control);
    if (auto const* const project = std::get_if<BoundProject>(&operation))
      return project_rows(input, project->columns, control);
    if (auto const* const sort = std::get_if<BoundSort>(&operation))
      return sort_rows(input, sort->columns, sort->rows, control);
    if (auto const* const limit = std::get_if<BoundLimit>(&operation))
      return slice_rows(input, limit->offset, limit->rows.value_or(~std::uint64_t{0}));
    std::vector<Table> tables;
    for (auto const& ran : inputs) tables.push_back(slice_rows(ran.table.view(), 0, ~std::uint64_t{0}));
    return append_rows(tables);
  }

  /// Reads a result to its end; the operator takes its place above the plans of its inputs.
  Result<Ran> collected(QueryResult& result, std::vector<Ran> inputs) {
    GARUDA_TRY_ASSIGN(auto table, collect(result));
    auto plan = result.plan();
    plan.inputs.clear();
    for (auto& input : inputs) plan.inputs.push_back(std::move(input.plan));
    auto const stats = result.stats();
    for (auto const& phase : stats.phases) run_.recorder.add_phase(phase.name, phase.ns, phase.bytes, phase.items);
    for (auto const& [name, value] : stats.counters) run_.recorder.add_counter(name, value);
    return Ran{with_positions(std::move(table)), std::move(plan)};
  }

  Result<Ran> run_join(BoundJoin const& join, std::vector<Ran> inputs) {
    auto const left = inputs[0].table.view();
    auto const right = inputs[1].table.view();
    JoinSpec spec;
    spec.kind = join.kind;
    spec.nulls_equal = join.nulls_equal;
    spec.where = join.where;
    spec.allow_cross = true;
    for (auto const& [left_key, right_key] : join.keys)
      spec.on.emplace_back(column_name(left_key), column_name(right_key));
    spec.columns.emplace();
    for (auto const column : join.left_columns) spec.columns->push_back({Side::left, column_name(column)});
    for (auto const column : join.right_columns) spec.columns->push_back({Side::right, column_name(column)});
    GARUDA_TRY_ASSIGN(auto columns, resolve::resolve_join(left.schema(), right.schema(), spec));
    JoinOptions const options{options_, options_.join_tuning};
    GARUDA_TRY_ASSIGN(auto result, join::hash_join({left, right, spec, std::move(columns), options, &devices_}));
    return collected(*result, std::move(inputs));
  }

  Result<Ran> run_group_by(BoundGroupBy const& group_by, std::vector<Ran> inputs) {
    auto const table = inputs[0].table.view();
    GroupBySpec spec;
    for (std::size_t k = 0; k < group_by.num_keys; ++k) spec.keys.push_back(column_name(k));
    spec.aggregates = group_by.aggregates;
    GARUDA_TRY_ASSIGN(auto columns, resolve::resolve_group_by(table, spec));
    GroupByOptions const options{options_, options_.group_by_tuning};
    GARUDA_TRY_ASSIGN(auto result, group_by::group_by({table, spec, std::move(columns), options, &devices_}));
    return collected(*result, std::move(inputs));
  }

  QueryOptions const& options_;
  contract::DeviceSet& devices_;
  run::QueryRun& run_;
};

/// The rows of a query that has run.
class FinishedQuery final : public QueryResult {
 public:
  FinishedQuery(Table table, Plan plan, RunStats stats)
      : table_(std::move(table)), plan_(std::move(plan)), stats_(std::move(stats)) {}

  Schema const& schema() const noexcept override { return table_.schema(); }
  Plan const& plan() const noexcept override { return plan_; }
  RunStats stats() const override { return stats_; }
  Result<std::optional<Batch>> next() override {
    if (next_ == table_.batches().size()) return std::nullopt;
    return table_.batches()[next_++];
  }

 private:
  Table table_;
  Plan plan_;
  RunStats stats_;
  std::size_t next_ = 0;
};

}  // namespace

Result<std::unique_ptr<QueryResult>> run_query(Query const& query, QueryOptions const& options,
                                               contract::DeviceSet& devices) {
  run::QueryRun run(options);
  GARUDA_TRY_ASSIGN(auto bound, bind(query));
  auto const wanted = bound.schema;
  bound = prune(std::move(bound));
  GARUDA_TRY_ASSIGN(auto ran, QueryRunner(options, devices, run).run(bound));
  auto schema = ran.table.schema();
  for (std::size_t c = 0; c < schema.size(); ++c) schema[c].name = wanted[c].name;
  auto stats = run.stats(ran.plan);
  stats.rows_out = static_cast<std::uint64_t>(ran.table.num_rows());
  Table table(std::move(schema), {ran.table.batches().begin(), ran.table.batches().end()});
  return std::make_unique<FinishedQuery>(std::move(table), std::move(ran.plan), std::move(stats));
}

Result<Plan> explain_query(Query const& query) {
  GARUDA_TRY_ASSIGN(auto bound, bind(query));
  return plan_of(prune(std::move(bound)));
}

}  // namespace garuda::query
