#include "operators/query/run/explain_query.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "operators/pipeline/pipeline.hpp"
#include "operators/query/plans/query_plan.hpp"

namespace garuda::query {
namespace {

/// Whether the operator only picks columns of the result's rows.
bool only_picks(Bound const& query) {
  auto const* const project = std::get_if<BoundProject>(&query.operation);
  return project != nullptr && project->only_picks();
}

/// Whether the operator's rows are those of a table of the host.
bool is_hosts_table(Bound const& query) {
  auto const* node = &query;
  while (!node->inputs.empty()) node = &node->inputs[0];
  return is_table(query) && std::get<BoundScan>(node->operation).table.resident() == nullptr;
}

}  // namespace

Result<Plan> QueryExplainer::explain(Bound const& query, bool is_result) {
  if (auto const subtree = common_.find(query)) {
    if (is_shown_[*subtree]) return again(query);
    is_shown_[*subtree] = true;
  }
  auto const manner = placements_.manner_of(query, is_result);
  GARUDA_TRY_ASSIGN(auto plan, node_of(query, manner));
  for (auto const& below : query.inputs) {
    GARUDA_TRY_ASSIGN(auto input, explain(below, is_result && only_picks(query)));
    plan.inputs.push_back(std::move(input));
  }
  set_expected_rows(plan, query);
  return plan;
}

/// An operator over tables is planned as if it ran; rows of others are not there to be looked at.
Result<Plan> QueryExplainer::node_of(Bound const& query, Manner manner) {
  auto node = placements_.node_of(query, manner);
  if (!has_rows_ || manner != Manner::whole || !std::ranges::all_of(query.inputs, is_hosts_table)) return node;
  std::vector<Table> tables;
  for (auto const& input : query.inputs) {
    GARUDA_TRY_ASSIGN(auto table, run_.arena.execute([&] { return picked(input); }));
    tables.push_back(std::move(table));
  }
  auto const* const join = std::get_if<BoundJoin>(&query.operation);
  GARUDA_TRY_ASSIGN(
      auto plan, join != nullptr ? whole_.explain_join(*join, tables[0].view(), tables[1].view())
                                 : whole_.explain_group_by(std::get<BoundGroupBy>(query.operation), tables[0].view()));
  plan.inputs.clear();
  say_work(plan, query);
  return plan;
}

/// The columns of a table as they are picked. Requires: is_hosts_table().
Result<Table> QueryExplainer::picked(Bound const& query) {
  auto const* node = &query;
  std::vector<BoundProject const*> picks;
  for (; !node->inputs.empty(); node = &node->inputs[0]) picks.push_back(&std::get<BoundProject>(node->operation));
  pipeline::Pipeline made(std::get<BoundScan>(node->operation).table, whole_.pipeline_options());
  for (auto pick = picks.rbegin(); pick != picks.rend(); ++pick) GARUDA_TRY(made.project((*pick)->columns));
  return made.run(column_names(query.schema.size()), std::nullopt, StringForm::view);
}

}  // namespace garuda::query
