// Generated tables as files, so that others are measured on the same data.
#pragma once

#include <filesystem>
#include <string>

#include "garuda/error.hpp"
#include "garuda/table.hpp"

namespace garuda::bench {

/// Writes `table` to `folder`/`name`.arrow, an Arrow IPC file of as many batches as the table has. Creates the folder;
/// replaces the file. Returns the file's path. Blocks. Errors: output.
Result<std::filesystem::path> export_table(std::filesystem::path const& folder, std::string const& name,
                                           Table const& table);

}  // namespace garuda::bench
