#include "operators/query/run/placements.hpp"

#include <fmt/format.h>

#include <string>
#include <variant>

#include "operators/group_by/pipelined_groups.hpp"
#include "operators/join/join_build.hpp"
#include "operators/plan/path_choice.hpp"
#include "operators/query/bind_join.hpp"
#include "operators/query/plans/query_plan.hpp"
#include "operators/query/run/one_row.hpp"
#include "operators/query/strict.hpp"

namespace garuda::query {
namespace {

/// Whether operators of `row` run where the options name a path or leave it open.
bool takes(QueryOptions const& options, contract::PathRow const& row) {
  return options.picks_path() || plan::find_path(options.path) == &row;
}

void set_row(Plan& plan, contract::PathRow const& row) {
  plan.path = row.path;
  plan.device = std::string(row.name);
  plan.driver.clear();
  plan.on_device = false;
}

}  // namespace

Manner Placements::manner_of(Bound const& query, bool is_result) const {
  if (device_ != nullptr && device_->computes(query)) return Manner::device;
  auto const& operation = query.operation;
  if (std::holds_alternative<BoundScan>(operation)) return Manner::table;
  if (std::holds_alternative<BoundFilter>(operation) || std::holds_alternative<BoundProject>(operation))
    return Manner::step;
  if (auto const* const join = std::get_if<BoundJoin>(&operation)) return manner_of_join(*join, query, is_result);
  if (auto const* const group_by = std::get_if<BoundGroupBy>(&operation)) return manner_of_group_by(*group_by, query);
  return Manner::host;
}

/// A join is a step of a pipeline on the path whose tables are built once and probed as often as wanted. A tuning is of
/// the operator that takes both sides whole, which is also sooner where both are tables and the rows are the result.
Manner Placements::manner_of_join(BoundJoin const& join, Bound const& query, bool is_result) const {
  if (join.pairs) return Manner::step;
  bool const has_tuning = !(options_.join_tuning == JoinTuning{});
  if (takes(options_, join::path_of_tables()) && !has_tuning && one_row_side(join, query)) return Manner::step;
  if (!takes(options_, join::path_of_tables()) || has_tuning || join.keys.empty()) return Manner::whole;
  if (is_result && options_.memory_limit_bytes == 0 && is_table(query.inputs[0]) && is_table(query.inputs[1]))
    return Manner::whole;
  if (!join.where) return Manner::step;
  auto const where = pair_expression(*join.where, query.inputs[0].schema, query.inputs[1].schema);
  return where && *where ? Manner::step : Manner::whole;
}

/// Whether no step of a pipeline stands between an operator and rows that are there.
bool Placements::has_no_steps(Bound const& query) const {
  if (auto const* const project = std::get_if<BoundProject>(&query.operation); project != nullptr)
    if (project->only_picks()) return has_no_steps(query.inputs[0]);
  return manner_of(query, false) != Manner::step;
}

/// A tuning, and a path that was asked for, are of the operator that takes all rows at once. It reads the columns of a
/// table where they lie.
Manner Placements::manner_of_group_by(BoundGroupBy const& group_by, Bound const& query) const {
  auto const& input = query.inputs[0];
  bool const as_rows_come = takes(options_, group_by::path_of_growing_groups()) && options_.memory_limit_bytes == 0 &&
                            options_.group_by_tuning == GroupByTuning{} && !common_.find(input);
  return as_rows_come && (group_by.num_keys == 0 || !has_no_steps(input)) ? Manner::groups : Manner::whole;
}

/// The path and the device that the options ask for. What they leave open the operator's planner chooses.
void Placements::set_path(Plan& plan) const {
  plan.path = options_.path;
  plan.device = std::string(to_string(options_.path));
  if (options_.picks_path()) {
    plan.reason = "a path is chosen when the rows of its inputs are there";
    return;
  }
  plan.reason = fmt::format("path {} was asked for", plan.device);
  auto const machine = plan::machine_of(devices_, options_.threads);
  auto const index = plan::requested_device(machine.devices, options_);
  if (!index || !*index) return;
  auto const& device = devices_.devices()[**index];
  plan.device = device.name;
  plan.driver = device.driver;
  plan.on_device = true;
}

Plan Placements::node_of(Bound const& query, Manner manner) const {
  if (manner == Manner::device) return device_->node_of(query);
  auto plan = query::node_of(query);
  auto const* const join = std::get_if<BoundJoin>(&query.operation);
  auto const* const project = std::get_if<BoundProject>(&query.operation);
  switch (manner) {
    case Manner::table:
    case Manner::device:
      break;
    case Manner::step:
      if (project == nullptr || !project->only_picks()) plan.reason = "a step of a pipeline";
      if (join != nullptr) set_row(plan, join::path_of_tables());
      break;
    case Manner::groups:
      plan.reason = "rows are grouped as a pipeline gives them";
      set_row(plan, group_by::path_of_growing_groups());
      break;
    case Manner::whole:
      set_path(plan);
      if (join == nullptr || !joins_on_host(*join, options_)) break;
      set_row(plan, join::path_of_tables());
      plan.reason = fmt::format("path {} joins by keys alone", to_string(options_.path));
      break;
    case Manner::host:
      plan.reason = kWorkOfHost;
      break;
  }
  if (device_ != nullptr && !query.inputs.empty()) plan.reason = device_->refusal(query).value_or(plan.reason);
  return plan;
}

}  // namespace garuda::query
