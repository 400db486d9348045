// Generated tables as files.
#pragma once

#include <filesystem>

#include "garuda/error.hpp"
#include "garuda/table.hpp"

namespace garuda::bench {

/// Writes `table` to `folder`/`name`.arrow, an Arrow IPC file of as many batches as the table has, so that others are
/// measured on the same data. Creates the folder; replaces the file. Errors: output;
/// usage, in a build without files.
Result<void> export_table(std::filesystem::path const& folder, char const* name, Table const& table);

}  // namespace garuda::bench
