// The border between the program and libgaruda_files.so, which is all of it that needs Arrow's libraries. Loading these
// takes 10 ms: so commands that read no file start without, and a device is opened meanwhile.
#pragma once

#include <filesystem>
#include <utility>

#include "cli/arguments/operator_arguments.hpp"
#include "cli/arguments/query_arguments.hpp"
#include "cli/run_start.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"

namespace garuda::cli {

/// How a plan is printed.
struct PlanForm {
  bool json = false;
  bool phases = false;
};

/// The functions of libgaruda_files.so. `start` has been opened, for this request.
struct FileCommands {
  char const* version;  ///< of garuda
  Result<void> (*join)(JoinRequest& request, RunStart& start);
  Result<void> (*group_by)(GroupByRequest& request, RunStart& start);
  Result<void> (*run)(QueryRequest& request, RunStart& start);
  Result<void> (*explain_join)(JoinRequest& request, PlanForm form);
  Result<void> (*explain_group_by)(GroupByRequest& request, PlanForm form);
  Result<void> (*explain_run)(QueryRequest& request, PlanForm form);
  Result<void> (*write_table)(std::filesystem::path const& file, Table const& table);
};

/// The library's one function, by this name.
inline constexpr auto kFileCommandsFunction = "garuda_file_commands";
extern "C" FileCommands const* garuda_file_commands() noexcept;

/// Loads the library, from beside the program or from where its install lies; once.
/// Errors: limit_exceeded, with the system's reason: it is not there, or there is no memory for it; usage, for one of
/// another version and in a build without files.
Result<FileCommands const*> load_file_commands();

/// Runs `command` of the library; output and engine of `request` are opened and started before.
template <class Request>
Result<void> run_on_files(Result<Request> request, Result<void> (*FileCommands::*command)(Request&, RunStart&)) {
  if (!request) return propagate(std::move(request));
  RunStart start(*request, request->options);
  GARUDA_TRY(start.open());
  GARUDA_TRY_ASSIGN(auto const* const commands, start.file_commands());
  return (commands->*command)(*request, start);
}

}  // namespace garuda::cli
