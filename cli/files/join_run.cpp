#include <utility>

#include "cli/files/file_run.hpp"
#include "cli/files/join_inputs.hpp"
#include "cli/files/runs.hpp"
#include "garuda/engine.hpp"
#include "spill/file_join.hpp"

namespace garuda::cli {
namespace {

/// The limit holds for the tables too, so they are read, and spilled, by whoever joins them.
Result<void> join_within_limit(JoinRequest const& request, FileRun& run) {
  GARUDA_TRY_ASSIGN(auto const join, limited_join(request));
  GARUDA_TRY_ASSIGN(auto const engine, run.engine());
  if (request.count) {
    GARUDA_TRY_ASSIGN(auto const counted, spill::count_join_of_files(*engine, join));
    return run.print_number(counted.rows, counted.stats, counted.plan);
  }
  GARUDA_TRY_ASSIGN(auto result, spill::join_files(*engine, join));
  return run.take(std::move(result));
}

Result<void> join(JoinRequest& request, FileRun& run) {
  GARUDA_TRY(settle_counted_columns(request));
  if (request.options.memory_limit_bytes != 0) return join_within_limit(request, run);
  GARUDA_TRY_ASSIGN(auto const inputs, run.read([&] { return read_inputs(request); }));
  GARUDA_TRY_ASSIGN(auto const engine, run.engine());
  if (request.count) {
    GARUDA_TRY_ASSIGN(auto const counted,
                      engine->join_count(inputs.left.view(), inputs.right.view(), request.spec, request.options));
    return run.print_number(counted.rows, counted.stats, counted.plan);
  }
  GARUDA_TRY_ASSIGN(auto result, engine->join(inputs.left.view(), inputs.right.view(), request.spec, request.options));
  return run.take(std::move(result));
}

}  // namespace

Result<void> run_join(JoinRequest& request, RunStart& start) {
  FileRun run(request, request.options, start);
  return run.run([&] { return join(request, run); });
}

}  // namespace garuda::cli
