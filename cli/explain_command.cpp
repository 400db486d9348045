// `garuda explain`: the plan, without its execution.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "cli/arguments/group_by_arguments.hpp"
#include "cli/arguments/join_arguments.hpp"
#include "cli/arguments/threads.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/join_inputs.hpp"
#include "cli/terminal/terminal.hpp"
#include "garuda/engine.hpp"
#include "spill/file_join.hpp"
#include "spill/group_by/block_groups.hpp"
#include "spill/group_by/file_group_by.hpp"

namespace garuda::cli {
namespace {

/// What is printed of a plan.
struct Form {
  bool json = false;
  bool phases = false;
};

/// The estimates of all candidates by phase, in the order in which the plan lists them.
std::string phases_of(Plan const& plan) {
  std::string text = "phases\n";
  for (auto const& candidate : plan.candidates) {
    text += fmt::format("  {} {}\n", to_string(candidate.path), candidate.choices);
    for (auto const& [phase, ns] : candidate.phases_ns) text += fmt::format("    {:>14.3f} ms  {}\n", ns * 1e-6, phase);
  }
  return text;
}

Result<void> print(Plan const& plan, Form form) {
  auto text = form.json ? to_json(plan) : to_string(plan);
  if (!text.ends_with('\n')) text += '\n';
  if (form.phases) text += phases_of(plan);
  return write_output(text);
}

/// The limit holds for the tables too: what does not fit is spilled, as it is when they are joined.
Result<void> explain_within_limit(JoinRequest const& request, Form form) {
  GARUDA_TRY_ASSIGN(auto const join, limited_join(request));
  GARUDA_TRY_ASSIGN(auto engine, Engine::create({.vulkan = request.options.path != Path::cpu}));
  GARUDA_TRY_ASSIGN(auto const plan, spill::explain_join_of_files(engine, join));
  return print(plan, form);
}

Result<void> explain(JoinArguments const& arguments, Form form) {
  GARUDA_TRY_ASSIGN(auto request, to_request(arguments));
  request.options.control.cancelled = &interrupted();
  GARUDA_TRY_ASSIGN(auto const thread_limit, ThreadLimit::set(request.options.threads));
  GARUDA_TRY(settle_counted_columns(request));
  if (request.options.memory_limit_bytes != 0) return explain_within_limit(request, form);
  GARUDA_TRY_ASSIGN(auto const inputs, read_inputs(request));
  GARUDA_TRY_ASSIGN(auto engine, Engine::create({.vulkan = request.options.path != Path::cpu}));
  auto const explain = request.count ? &Engine::explain_join_count : &Engine::explain_join;
  GARUDA_TRY_ASSIGN(auto const plan,
                    (engine.*explain)(inputs.left.view(), inputs.right.view(), request.spec, request.options));
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

Result<void> explain(GroupByArguments const& arguments, Form form) {
  GARUDA_TRY_ASSIGN(auto request, to_request(arguments));
  request.options.control.cancelled = &interrupted();
  GARUDA_TRY_ASSIGN(auto const thread_limit, ThreadLimit::set(request.options.threads));
  GARUDA_TRY_ASSIGN(auto const plan, plan_of(request));
  return print(plan, form);
}

/// Adds what the plans of all operators have in common to `command`, whose arguments are `arguments`.
template <class Arguments>
void finish_command(CLI::App& command, std::shared_ptr<Arguments> const& arguments, Context& context) {
  auto const form = std::make_shared<Form>();
  auto* const json = command.add_flag("--json", form->json, "one JSON object");
  command.add_flag("--phases", form->phases, "each candidate's estimate by phase, too (--json has it)")->excludes(json);
  command.callback(
      [arguments, form, &context] { context.run = [arguments, form] { return report(explain(*arguments, *form)); }; });
}

}  // namespace

void add_explain_command(CLI::App& app, Context& context) {
  auto& command = *app.add_subcommand("explain", "show the plan: path, device, choices, what each would cost");
  command.require_subcommand(1);
  auto& join = *command.add_subcommand("join", "the plan of `garuda join` with the same arguments");
  auto const join_arguments = std::make_shared<JoinArguments>();
  add_join_options(join, *join_arguments);
  finish_command(join, join_arguments, context);
  join.footer(
      "The files are read, because the plan depends on the keys; nothing is joined or written, but for temporary "
      "files\n"
      "where the tables do not fit --memory-limit: then the plan is that of the first partition, and says so.\n"
      "Example:\n  garuda explain join customer.parquet orders.parquet --on c_custkey=o_custkey");
  auto& group_by = *command.add_subcommand("group-by", "the plan of `garuda group-by` with the same arguments");
  auto const group_by_arguments = std::make_shared<GroupByArguments>();
  add_group_by_options(group_by, *group_by_arguments);
  finish_command(group_by, group_by_arguments, context);
  group_by.footer(
      "The file is read, because the plan depends on the keys; nothing is grouped or written, but for rows that fill\n"
      "--memory-limit: they are grouped, to see how many groups there are.\n"
      "Example:\n  garuda explain group-by orders.parquet --keys o_custkey,o_orderdate --agg count");
}

}  // namespace garuda::cli
