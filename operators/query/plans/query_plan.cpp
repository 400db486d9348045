#include "operators/query/plans/query_plan.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace garuda::query {
namespace {

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

/// The share of its files that a table was read from: `3 of 20 row groups, 1000 of 9000 bytes`.
std::string share_text(FilesRead const& files) {
  return fmt::format("{} of {} row groups, {} of {} bytes", files.row_groups, files.all_row_groups, files.bytes,
                     files.all_bytes);
}

Described describe(Bound const& query) {
  auto const& operation = query.operation;
  if (auto const* const scan = std::get_if<BoundScan>(&operation))
    return {"table", scan->files ? share_text(*scan->files) : ""};
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
  if (std::holds_alternative<BoundNumber>(operation)) return {"number rows", {}};
  if (auto const* const limit = std::get_if<BoundLimit>(&operation))
    return {"limit",
            fmt::format("{} rows behind {}", limit->rows ? std::to_string(*limit->rows) : "all", limit->offset)};
  return {"union", {}};
}

/// The name of a node whose rows another one gives, too.
constexpr char const* kAgain = "again";

}  // namespace

Plan node_of(Bound const& query) {
  Plan plan;
  auto [operation, text] = describe(query);
  plan.operation = std::move(operation);
  plan.device = "host";
  plan.choices = std::move(text);
  plan.estimated_rows = query.estimated_rows.value_or(0);
  return plan;
}

void say_work(Plan& plan, Bound const& query) {
  plan.details.emplace(plan.details.begin(), "work", describe(query).text);
}

void set_rows(Plan& plan, std::uint64_t rows, std::uint64_t ns) {
  plan.rows = rows;
  plan.ns = ns;
  if (plan.estimated_rows == 0) plan.estimated_rows = static_cast<double>(rows);
}

std::uint64_t rows_read(Plan const& plan) {
  if (plan.inputs.empty()) return plan.operation == kAgain ? 0 : plan.rows.value_or(0);
  std::uint64_t rows = 0;
  for (auto const& input : plan.inputs) rows += rows_read(input);
  return rows;
}

Plan again(Bound const& query) {
  auto plan = node_of(query);
  plan.choices = fmt::format("an equal {} runs once, for all", plan.operation);
  plan.operation = kAgain;
  return plan;
}

Plan plan_of_written(Bound const& query) {
  auto plan = node_of(query);
  plan.device.clear();
  for (auto const& input : query.inputs) plan.inputs.push_back(plan_of_written(input));
  return plan;
}

void set_expected_rows(Plan& plan, Bound const& query) {
  if (auto const* const scan = std::get_if<BoundScan>(&query.operation))
    plan.estimated_rows = static_cast<double>(scan->table.num_rows());
  else if (query.estimated_rows)
    plan.estimated_rows = *query.estimated_rows;
  // Pruning and what names a result's columns make projections anew: they give the rows that they read.
  else if (std::holds_alternative<BoundProject>(query.operation))
    plan.estimated_rows = plan.inputs[0].estimated_rows;
}

void count_files(FilesRead const& files, contract::StatsSink& stats) {
  stats.add_counter("row_groups_read", files.row_groups);
  stats.add_counter("row_groups", files.all_row_groups);
  stats.add_counter("file_bytes_read", files.bytes);
  stats.add_counter("file_bytes", files.all_bytes);
}

}  // namespace garuda::query
