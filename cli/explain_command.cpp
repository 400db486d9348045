// `garuda explain` on the command line: the plan, without its execution. files/explain_run makes it.
#include <memory>

#include "cli/arguments/group_by_arguments.hpp"
#include "cli/arguments/join_arguments.hpp"
#include "cli/arguments/threads.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/file_commands.hpp"
#include "cli/interrupt.hpp"

namespace garuda::cli {
namespace {

template <class Request>
using Explain = Result<void> (*FileCommands::*)(Request& request, PlanForm form);

template <class Arguments, class Request>
Result<void> explain(Arguments const& arguments, Explain<Request> command, PlanForm form) {
  GARUDA_TRY_ASSIGN(auto request, to_request(arguments));
  request.options.control.cancelled = &interrupted();
  ThreadLimit const thread_limit(request.options.threads);
  GARUDA_TRY_ASSIGN(auto const* const commands, load_file_commands());
  return (commands->*command)(request, form);
}

/// Adds what the plans of all operators have in common to `command`, whose arguments are `arguments`.
template <class Arguments, class Request>
void finish_command(CLI::App& command, std::shared_ptr<Arguments> const& arguments, Explain<Request> explained,
                    Context& context) {
  auto const form = std::make_shared<PlanForm>();
  auto* const json = command.add_flag("--json", form->json, "one JSON object");
  command.add_flag("--phases", form->phases, "each candidate's estimate by phase, too (--json has it)")->excludes(json);
  command.callback([=, &context] { context.run = [=] { return report(explain(*arguments, explained, *form)); }; });
}

}  // namespace

void add_explain_command(CLI::App& app, Context& context) {
  auto& command = *app.add_subcommand("explain", "show the plan: path, device, choices, what each would cost");
  command.require_subcommand(1);
  auto& join = *command.add_subcommand("join", "the plan of `garuda join` with the same arguments");
  auto const join_arguments = std::make_shared<JoinArguments>();
  add_join_options(join, *join_arguments);
  finish_command(join, join_arguments, &FileCommands::explain_join, context);
  join.footer(
      "The files are read, because the plan depends on the keys; nothing is joined or written, but for temporary "
      "files\n"
      "where the tables do not fit --memory-limit: then the plan is that of the first partition, and says so.\n"
      "Example:\n  garuda explain join customer.parquet orders.parquet --on c_custkey=o_custkey");
  auto& group_by = *command.add_subcommand("group-by", "the plan of `garuda group-by` with the same arguments");
  auto const group_by_arguments = std::make_shared<GroupByArguments>();
  add_group_by_options(group_by, *group_by_arguments);
  finish_command(group_by, group_by_arguments, &FileCommands::explain_group_by, context);
  group_by.footer(
      "The file is read, because the plan depends on the keys; nothing is grouped or written, but for rows that fill\n"
      "--memory-limit: they are grouped, to see how many groups there are.\n"
      "Example:\n  garuda explain group-by orders.parquet --keys o_custkey,o_orderdate --agg count");
}

}  // namespace garuda::cli
