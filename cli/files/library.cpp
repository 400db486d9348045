// The commands on files, which are the exports of libgaruda_files.so: `garuda join`, `garuda group-by` and the plans of
// both.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "cli/file_commands.hpp"
#include "cli/files/file_run.hpp"
#include "cli/files/inputs.hpp"
#include "cli/files/query_inputs.hpp"
#include "cli/terminal.hpp"
#include "garuda/engine.hpp"
#include "io/table_writer.hpp"
#include "spill/file_join.hpp"
#include "spill/group_by/block_groups.hpp"
#include "spill/group_by/file_group_by.hpp"

namespace garuda::cli {
namespace {

/// The limit holds for the tables too, so they are read, and spilled, by whoever joins them.
Result<void> join_within_limit(JoinRequest const& request, FileRun& run) {
  GARUDA_TRY_ASSIGN(auto const join, limited_join(request));
  GARUDA_TRY_ASSIGN(auto const engine, run.engine());
  if (request.count) return run.print(spill::count_join_of_files(*engine, join));
  return run.take(spill::join_files(*engine, join));
}

Result<void> join(JoinRequest& request, FileRun& run) {
  GARUDA_TRY(settle_counted_columns(request));
  if (request.options.memory_limit_bytes != 0) return join_within_limit(request, run);
  GARUDA_TRY_ASSIGN(auto const inputs, run.read([&] { return read_inputs(request); }));
  GARUDA_TRY_ASSIGN(auto const engine, run.engine());
  auto const left = inputs.left.view();
  auto const right = inputs.right.view();
  if (request.count) return run.print(engine->join_count(left, right, request.spec, request.options));
  return run.take(engine->join(left, right, request.spec, request.options));
}

Result<void> run_join(JoinRequest& request, RunStart& start) {
  FileRun run(request, request.options, start);
  return run.run([&] { return join(request, run); });
}

/// Under a limit the file is read, and spilled, by whoever groups it; without one it is grouped in blocks where that
/// can be, else read whole.
Result<void> group_by(GroupByRequest& request, FileRun& run) {
  GARUDA_TRY_ASSIGN(auto const of_file, group_by_of_file(request));
  if (request.options.memory_limit_bytes != 0) {
    GARUDA_TRY_ASSIGN(auto const engine, run.engine());
    return run.take(spill::group_file(*engine, of_file));
  }
  GARUDA_TRY_ASSIGN(auto blocks, spill::BlockedGroupBy::open(of_file));
  if (blocks) {
    GARUDA_TRY_ASSIGN(auto const engine, run.engine());
    return run.take((*std::move(blocks)).group(*engine));
  }
  GARUDA_TRY_ASSIGN(auto const table, run.read([&] { return read_input(request); }));
  GARUDA_TRY_ASSIGN(auto const engine, run.engine());
  return run.take(engine->group_by(table.view(), request.spec, request.options));
}

Result<void> run_group_by(GroupByRequest& request, RunStart& start) {
  FileRun run(request, request.options, start);
  return run.run([&] { return group_by(request, run); });
}

Result<void> run_query(QueryRequest& request, FileRun& run) {
  GARUDA_TRY_ASSIGN(auto const inputs, run.read([&] { return read_inputs(request); }));
  GARUDA_TRY_ASSIGN(auto const engine, run.engine());
  return run.take(engine->run_substrait(message_of(request), inputs.named(), request.options));
}

Result<void> run_plan(QueryRequest& request, RunStart& start) {
  FileRun run(request, request.options, start);
  return run.run([&] { return run_query(request, run); });
}

Result<Engine> make_engine(RunOptions const& options) { return Engine::create({.vulkan = options.path != Path::cpu}); }

/// The limit holds for the tables too: what does not fit is spilled, as it is when they are joined.
Result<Plan> plan_of(JoinRequest& request) {
  GARUDA_TRY(settle_counted_columns(request));
  if (request.options.memory_limit_bytes != 0) {
    GARUDA_TRY_ASSIGN(auto const join, limited_join(request));
    GARUDA_TRY_ASSIGN(auto engine, make_engine(request.options));
    return spill::explain_join_of_files(engine, join);
  }
  GARUDA_TRY_ASSIGN(auto const inputs, read_inputs(request));
  GARUDA_TRY_ASSIGN(auto engine, make_engine(request.options));
  auto const explain = request.count ? &Engine::explain_join_count : &Engine::explain_join;
  return (engine.*explain)(inputs.left.view(), inputs.right.view(), request.spec, request.options);
}

Result<Plan> plan_of(GroupByRequest& request) {
  GARUDA_TRY_ASSIGN(auto const of_file, group_by_of_file(request));
  if (request.options.memory_limit_bytes != 0) {
    GARUDA_TRY_ASSIGN(auto engine, make_engine(request.options));
    return spill::explain_group_by_of_file(engine, of_file);
  }
  GARUDA_TRY_ASSIGN(auto blocks, spill::BlockedGroupBy::open(of_file));
  if (blocks) {
    GARUDA_TRY_ASSIGN(auto engine, make_engine(request.options));
    return (*std::move(blocks)).explain(engine);
  }
  GARUDA_TRY_ASSIGN(auto const table, read_input(request));
  GARUDA_TRY_ASSIGN(auto engine, make_engine(request.options));
  return engine.explain_group_by(table.view(), request.spec, request.options);
}

Result<Plan> plan_of(QueryRequest& request) {
  GARUDA_TRY_ASSIGN(auto const inputs, read_inputs(request));
  GARUDA_TRY_ASSIGN(auto engine, make_engine(request.options));
  return engine.explain_substrait(message_of(request), inputs.named(), request.options);
}

/// The estimates of all candidates by phase, in the order in which the plan lists them.
std::string phases_of(Plan const& plan) {
  std::string text = "phases\n";
  for (auto const& candidate : plan.candidates) {
    text += fmt::format("  {} {}\n", to_string(candidate.path), candidate.choices);
    for (auto const& [phase, ns] : candidate.phases_ns) text += fmt::format("    {:>14.3f} ms  {}\n", ns * 1e-6, phase);
  }
  return text;
}

/// Prints the plan of a request; the files are read, for plans depend on the keys.
template <class Request>
Result<void> explain(Request& request, PlanForm form) {
  GARUDA_TRY_ASSIGN(auto const thread_limit, FileThreadLimit::set(request.options.threads));
  GARUDA_TRY_ASSIGN(auto const plan, plan_of(request));
  auto text = form.json ? to_json(plan) : to_string(plan);
  if (!text.ends_with('\n')) text += '\n';
  if (form.phases) text += phases_of(plan);
  return write_output(text);
}

/// Writes an Arrow IPC file of as many batches as `table` has.
Result<void> write_table(std::filesystem::path const& file, Table const& table) {
  GARUDA_TRY_ASSIGN(auto writer, io::TableWriter::open(file, table.schema()));
  for (auto const& batch : table.batches()) GARUDA_TRY(writer.write(batch));
  GARUDA_TRY(writer.finish());
  return writer.commit();
}

}  // namespace

FileCommands const* garuda_file_commands() noexcept {
  static constexpr FileCommands kCommands{
      GARUDA_VERSION,        run_join,   run_group_by, run_plan, explain<JoinRequest>, explain<GroupByRequest>,
      explain<QueryRequest>, write_table};
  return &kCommands;
}

}  // namespace garuda::cli
