// Every option of --tuning, as the parsers know it.
#pragma once

#include <string>

namespace garuda::resolve {

/// The keys of both tunings as tables of Markdown, aligned for a terminal: option, paths that it changes, values,
/// default, what it decides; in the order in which plans print them.
std::string tuning_tables();

}  // namespace garuda::resolve
