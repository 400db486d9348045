#include "operators/query/run/whole_operators.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "core/stopwatch.hpp"
#include "operators/contract/sizing.hpp"
#include "operators/group_by/group_by.hpp"
#include "operators/join/join.hpp"
#include "operators/join/join_build.hpp"
#include "operators/query/limited/limited_group_by.hpp"
#include "operators/query/limited/limited_join.hpp"
#include "operators/query/plans/query_plan.hpp"
#include "operators/query/results/finished_query.hpp"
#include "operators/query/run/specifications.hpp"
#include "operators/query/strict.hpp"
#include "operators/resolve/group_by_columns.hpp"
#include "operators/resolve/join_columns.hpp"

namespace garuda::query {

WholeOperators::WholeOperators(QueryOptions const& options, contract::DeviceSet& devices, run::QueryRun& run)
    : options_(options), devices_(devices), run_(run) {
  if (options.memory_limit_bytes != 0)
    limit_.emplace(options.memory_limit_bytes, os::TemporaryFolder(options.temp_folder));
}

pipeline::PipelineOptions WholeOperators::pipeline_options() {
  return {options_.threads, run_.threads(), limit_ ? limit_->operator_bytes : 0,
          options_.control, &run_.recorder, limit_ ? &limit_->rows : nullptr};
}

void WholeOperators::set_spilled(Plan& plan, std::uint64_t before) {
  auto const bytes = spilled_bytes() - before;
  if (bytes == 0) return;
  plan.details.emplace_back("spilled", fmt::format("{} bytes", bytes));
  run_.recorder.add_counter("spilled_bytes", bytes);
}

Result<HostRows> WholeOperators::run(Plan plan, std::vector<HostRows> inputs,
                                     std::function<Result<Table>()> const& body) {
  auto const operation = plan.operation;  // the plan moves before the timer ends
  run::PhaseTimer const timer(run_.recorder, operation);
  Stopwatch const watch;
  auto const before = spilled_bytes();
  GARUDA_TRY_ASSIGN(auto table, run_.arena.execute([&] { return body(); }));
  set_rows(plan, static_cast<std::uint64_t>(table.num_rows()), watch.elapsed_ns());
  set_spilled(plan, before);
  for (auto& input : inputs) plan.inputs.push_back(std::move(input.plan));
  return HostRows{std::move(table), std::move(plan)};
}

/// Reads a result to its end, where there is no limit; the operator takes its place above the plans of its inputs.
Result<HostRows> WholeOperators::collected(QueryResult& result, std::vector<HostRows> inputs) {
  GARUDA_TRY_ASSIGN(auto table, collect(result));
  auto const stats = result.stats();
  run_.recorder.absorb(stats);
  return with_plan(std::move(table), result.plan(), std::move(inputs), stats.total_ns, spilled_bytes());
}

JoinOptions WholeOperators::options_of(BoundJoin const& join) const {
  JoinOptions options{options_, options_.join_tuning};
  if (joins_on_host(join, options_)) {
    options.path = join::path_of_tables().path;
    options.device.reset();
  }
  return options;
}

Result<Plan> WholeOperators::explain_join(BoundJoin const& join, TableView left, TableView right) {
  auto const spec = spec_of(join);
  GARUDA_TRY_ASSIGN(auto columns, resolve::resolve_join(left.schema(), right.schema(), spec));
  return join::explain_hash_join({left, right, spec, std::move(columns), options_of(join), &devices_}, false);
}

Result<Plan> WholeOperators::explain_group_by(BoundGroupBy const& group_by, TableView table) {
  auto const spec = spec_of(group_by);
  GARUDA_TRY_ASSIGN(auto columns, resolve::resolve_group_by(table, spec));
  return group_by::explain_group_by({table, spec, std::move(columns), group_by_options(), &devices_});
}

Result<HostRows> WholeOperators::join(BoundJoin const& join, std::vector<HostRows> inputs) {
  auto const left = inputs[0].table.view();
  auto const right = inputs[1].table.view();
  auto const spec = spec_of(join);
  auto options = options_of(join);
  if (limit_) return join_within(join, spec, std::move(options), std::move(inputs));
  GARUDA_TRY_ASSIGN(auto columns, resolve::resolve_join(left.schema(), right.schema(), spec));
  GARUDA_TRY_ASSIGN(auto result, join::hash_join({left, right, spec, std::move(columns), options, &devices_}));
  return collected(*result, std::move(inputs));
}

Result<HostRows> WholeOperators::join_within(BoundJoin const& bound, JoinSpec const& spec, JoinOptions options,
                                             std::vector<HostRows> inputs) {
  options.memory_limit_bytes = limit_->operator_bytes;
  auto const before = spilled_bytes();
  Stopwatch const watch;
  std::optional<Plan> plan;
  auto const join = [&](TableView left, TableView right) -> Result<Table> {
    GARUDA_TRY_ASSIGN(auto columns, resolve::resolve_join(left.schema(), right.schema(), spec));
    GARUDA_TRY_ASSIGN(auto result, join::hash_join({left, right, spec, std::move(columns), options, &devices_}));
    GARUDA_TRY_ASSIGN(auto table, limit_->rows.collect(*result));
    if (!plan) plan = result->plan();
    run_.recorder.absorb(result->stats());
    return table;
  };
  auto const left = inputs[0].table.view();
  auto const right = inputs[1].table.view();
  auto table = join(left, right);
  if (!table && contract::is_shortage(table.error()))
    table = join_within_limit(left, right,
                              {bound.kind, bound.keys, bound.build, false, join, *limit_, run_, options_.control});
  if (!table) return tl::unexpected(std::move(table).error());
  return with_plan(*std::move(table), *std::move(plan), std::move(inputs), watch.elapsed_ns(), before);
}

/// The rows of an operator with its plan above those of its inputs.
HostRows WholeOperators::with_plan(Table table, Plan plan, std::vector<HostRows> inputs, std::uint64_t ns,
                                   std::uint64_t spilled_before) {
  plan.inputs.clear();
  for (auto& input : inputs) plan.inputs.push_back(std::move(input.plan));
  set_rows(plan, static_cast<std::uint64_t>(table.num_rows()), ns);
  set_spilled(plan, spilled_before);
  return {with_positions(std::move(table)), std::move(plan)};
}

Result<HostRows> WholeOperators::group_by(GroupBySpec const& spec, std::span<std::string const> names,
                                          std::vector<HostRows> inputs) {
  auto const table = inputs[0].table.view();
  GARUDA_TRY_ASSIGN(auto columns, resolve::resolve_group_by(table, spec));
  columns.name_in_errors(names);
  auto const options = group_by_options();
  if (limit_) return group_within(table, spec, options, std::move(inputs));
  GARUDA_TRY_ASSIGN(auto result, group_by::group_by({table, spec, std::move(columns), options, &devices_}));
  return collected(*result, std::move(inputs));
}

Result<HostRows> WholeOperators::group_within(TableView table, GroupBySpec const& spec, GroupByOptions const& options,
                                              std::vector<HostRows> inputs) {
  auto const before = spilled_bytes();
  Stopwatch const watch;
  GARUDA_TRY_ASSIGN(auto groups, group_within_limit(table, {spec, options, devices_, *limit_, run_}));
  return with_plan(std::move(groups.table), std::move(groups.plan), std::move(inputs), watch.elapsed_ns(), before);
}

}  // namespace garuda::query
