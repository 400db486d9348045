// `garuda explain join`: the plan, without its execution.
#include <memory>
#include <utility>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/join_arguments.hpp"
#include "cli/join_inputs.hpp"
#include "cli/later_commands.hpp"
#include "cli/terminal.hpp"
#include "cli/threads.hpp"
#include "garuda/engine.hpp"

namespace garuda::cli {
namespace {

Result<void> explain(JoinArguments const& arguments, bool json) {
  GARUDA_TRY_ASSIGN(auto request, to_request(arguments));
  request.options.control.cancelled = &interrupted();
  GARUDA_TRY_ASSIGN(auto const thread_limit, ThreadLimit::set(request.options.threads));
  GARUDA_TRY_ASSIGN(auto const inputs, read_inputs(request));
  GARUDA_TRY_ASSIGN(auto engine, Engine::create({.vulkan = request.options.path != Path::cpu}));
  GARUDA_TRY_ASSIGN(auto const plan,
                    engine.explain_join(inputs.left.view(), inputs.right.view(), request.spec, request.options));
  auto text = json ? to_json(plan) : to_string(plan);
  if (!text.ends_with('\n')) text += '\n';
  return write_output(text);
}

}  // namespace

void add_explain_command(CLI::App& app, Context& context) {
  auto& command = *app.add_subcommand("explain", "show the plan: path, device, choices, what each would cost");
  command.require_subcommand(1);
  auto& join = *command.add_subcommand("join", "the plan of `garuda join` with the same arguments");
  auto const arguments = std::make_shared<JoinArguments>();
  auto const json = std::make_shared<bool>(false);
  add_join_options(join, *arguments);
  join.add_flag("--json", *json, "one JSON object");
  join.footer(
      "The files are read, because the plan depends on the keys; nothing is joined or written.\n"
      "Example:\n  garuda explain join customer.parquet orders.parquet --on c_custkey=o_custkey");
  join.callback(
      [arguments, json, &context] { context.run = [arguments, json] { return report(explain(*arguments, *json)); }; });
  add_later_command(command, context, "group-by", "the plan of `garuda group-by`");
}

}  // namespace garuda::cli
