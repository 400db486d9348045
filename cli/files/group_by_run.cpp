#include <utility>

#include "cli/files/file_run.hpp"
#include "cli/files/group_by_inputs.hpp"
#include "cli/files/runs.hpp"
#include "garuda/engine.hpp"
#include "spill/group_by/block_groups.hpp"
#include "spill/group_by/file_group_by.hpp"

namespace garuda::cli {
namespace {

/// The limit holds for the table too, so it is read, and spilled, by whoever groups it.
Result<void> group_within_limit(GroupByRequest const& request, FileRun& run) {
  GARUDA_TRY_ASSIGN(auto const of_file, group_by_of_file(request));
  GARUDA_TRY_ASSIGN(auto const engine, run.engine());
  GARUDA_TRY_ASSIGN(auto result, spill::group_file(*engine, of_file));
  return run.take(std::move(result));
}

Result<void> group_by(GroupByRequest& request, FileRun& run) {
  if (request.options.memory_limit_bytes != 0) return group_within_limit(request, run);
  GARUDA_TRY_ASSIGN(auto const of_file, group_by_of_file(request));
  GARUDA_TRY_ASSIGN(auto blocks, spill::BlockedGroupBy::open(of_file));
  if (blocks) {
    GARUDA_TRY_ASSIGN(auto const engine, run.engine());
    GARUDA_TRY_ASSIGN(auto result, (*std::move(blocks)).group(*engine));
    return run.take(std::move(result));
  }
  GARUDA_TRY_ASSIGN(auto const table, run.read([&] { return read_input(request); }));
  GARUDA_TRY_ASSIGN(auto const engine, run.engine());
  GARUDA_TRY_ASSIGN(auto result, engine->group_by(table.view(), request.spec, request.options));
  return run.take(std::move(result));
}

}  // namespace

Result<void> run_group_by(GroupByRequest& request, RunStart& start) {
  FileRun run(request, request.options, start);
  return run.run([&] { return group_by(request, run); });
}

}  // namespace garuda::cli
