#include "operators/query/run/explain_query.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "operators/pipeline/pipeline.hpp"
#include "operators/query/plans/query_plan.hpp"
#include "operators/query/run/one_row.hpp"

namespace garuda::query {
namespace {

/// Whether an operator wants all rows of input `i` as a table.
bool takes_table(Bound const& query, Manner manner, bool as_table, std::size_t i) {
  if (auto const* const join = std::get_if<BoundJoin>(&query.operation); join != nullptr && manner == Manner::step)
    return i == (one_row_side(*join, query).value_or(join->build) == Side::left ? 0U : 1U);
  if (auto const* const project = std::get_if<BoundProject>(&query.operation); project != nullptr)
    return as_table && project->only_picks();
  if (auto const* const limit = std::get_if<BoundLimit>(&query.operation)) return !limit->rows;
  if (auto const* const sort = std::get_if<BoundSort>(&query.operation)) return !sort->rows || sort->columns.empty();
  return manner == Manner::whole || manner == Manner::host;
}

/// Whether the operator's rows are those of a table of the host.
bool is_hosts_table(Bound const& query) {
  auto const* node = &query;
  while (!node->inputs.empty()) node = &node->inputs[0];
  return is_table(query) && std::get<BoundScan>(node->operation).table.resident() == nullptr;
}

}  // namespace

Result<Plan> QueryExplainer::explain(Bound const& query, bool as_table) {
  if (auto const subtree = common_.find(query)) {
    if (is_shown_[*subtree]) return again(query);
    is_shown_[*subtree] = true;
  }
  auto const manner = placements_.manner_of(query, as_table);
  GARUDA_TRY_ASSIGN(auto plan, node_of(query, manner));
  for (std::size_t i = 0; i < query.inputs.size(); ++i) {
    GARUDA_TRY_ASSIGN(auto input, explain(query.inputs[i], takes_table(query, manner, as_table, i)));
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
