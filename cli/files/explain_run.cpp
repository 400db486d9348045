#include <fmt/format.h>

#include <string>
#include <utility>

#include "cli/files/file_threads.hpp"
#include "cli/files/group_by_inputs.hpp"
#include "cli/files/join_inputs.hpp"
#include "cli/files/runs.hpp"
#include "cli/terminal/terminal.hpp"
#include "garuda/engine.hpp"
#include "spill/file_join.hpp"
#include "spill/group_by/block_groups.hpp"
#include "spill/group_by/file_group_by.hpp"

namespace garuda::cli {
namespace {

/// The estimates of all candidates by phase, in the order in which the plan lists them.
std::string phases_of(Plan const& plan) {
  std::string text = "phases\n";
  for (auto const& candidate : plan.candidates) {
    text += fmt::format("  {} {}\n", to_string(candidate.path), candidate.choices);
    for (auto const& [phase, ns] : candidate.phases_ns) text += fmt::format("    {:>14.3f} ms  {}\n", ns * 1e-6, phase);
  }
  return text;
}

Result<void> print(Plan const& plan, PlanForm form) {
  auto text = form.json ? to_json(plan) : to_string(plan);
  if (!text.ends_with('\n')) text += '\n';
  if (form.phases) text += phases_of(plan);
  return write_output(text);
}

/// The limit holds for the tables too: what does not fit is spilled, as it is when they are joined.
Result<void> explain_within_limit(JoinRequest const& request, PlanForm form) {
  GARUDA_TRY_ASSIGN(auto const join, limited_join(request));
  GARUDA_TRY_ASSIGN(auto engine, Engine::create({.vulkan = request.options.path != Path::cpu}));
  GARUDA_TRY_ASSIGN(auto const plan, spill::explain_join_of_files(engine, join));
  return print(plan, form);
}

Result<Plan> plan_of(GroupByRequest const& request) {
  GARUDA_TRY_ASSIGN(auto const of_file, group_by_of_file(request));
  auto const engine_options = EngineOptions{.vulkan = request.options.path != Path::cpu};
  if (request.options.memory_limit_bytes != 0) {
    GARUDA_TRY_ASSIGN(auto engine, Engine::create(engine_options));
    return spill::explain_group_by_of_file(engine, of_file);
  }
  GARUDA_TRY_ASSIGN(auto blocks, spill::BlockedGroupBy::open(of_file));
  if (blocks) {
    GARUDA_TRY_ASSIGN(auto engine, Engine::create(engine_options));
    return (*std::move(blocks)).explain(engine);
  }
  GARUDA_TRY_ASSIGN(auto const table, read_input(request));
  GARUDA_TRY_ASSIGN(auto engine, Engine::create(engine_options));
  return engine.explain_group_by(table.view(), request.spec, request.options);
}

}  // namespace

Result<void> explain_join(JoinRequest& request, PlanForm form) {
  GARUDA_TRY_ASSIGN(auto const thread_limit, FileThreadLimit::set(request.options.threads));
  GARUDA_TRY(settle_counted_columns(request));
  if (request.options.memory_limit_bytes != 0) return explain_within_limit(request, form);
  GARUDA_TRY_ASSIGN(auto const inputs, read_inputs(request));
  GARUDA_TRY_ASSIGN(auto engine, Engine::create({.vulkan = request.options.path != Path::cpu}));
  auto const explain = request.count ? &Engine::explain_join_count : &Engine::explain_join;
  GARUDA_TRY_ASSIGN(auto const plan,
                    (engine.*explain)(inputs.left.view(), inputs.right.view(), request.spec, request.options));
  return print(plan, form);
}

Result<void> explain_group_by(GroupByRequest& request, PlanForm form) {
  GARUDA_TRY_ASSIGN(auto const thread_limit, FileThreadLimit::set(request.options.threads));
  GARUDA_TRY_ASSIGN(auto const plan, plan_of(request));
  return print(plan, form);
}

}  // namespace garuda::cli
