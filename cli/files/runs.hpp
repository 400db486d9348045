// Runs of the commands on files: the functions of FileCommands.
#pragma once

#include "cli/file_commands.hpp"

namespace garuda::cli {

/// Two tables in, a file, a preview or a number out.
Result<void> run_join(JoinRequest& request, RunStart& start);

/// A table in, a file or a preview out.
Result<void> run_group_by(GroupByRequest& request, RunStart& start);

/// The plans of the two, printed; the files are read, for plans depend on the keys.
Result<void> explain_join(JoinRequest& request, PlanForm form);
Result<void> explain_group_by(GroupByRequest& request, PlanForm form);

/// Writes an Arrow IPC file of as many batches as `table` has.
Result<void> write_table(std::filesystem::path const& file, Table const& table);

}  // namespace garuda::cli
