// Every option of --tuning, as the parsers know it.
#pragma once

#include <string>

namespace garuda::resolve {

/// The keys of both tunings as a table of Markdown, aligned for a terminal: option, operators that have it, paths that
/// it changes, values, what it decides. Where joins and group-bys differ, a cell says both.
std::string tuning_table();

}  // namespace garuda::resolve
