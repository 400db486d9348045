// Every option of --tuning, as the parsers know it.
#pragma once

#include <string>
#include <vector>

namespace garuda::resolve {

/// One key of a tuning's text form. All are `auto` unless they are given.
struct TuningOption {
  std::string name;
  std::string paths;   ///< that it changes: "all", or names separated by commas
  std::string values;  ///< that it takes: "auto, stack, runs", "auto or 1 to 24"
  std::string about;   ///< what it decides
};

/// In the order in which plans print them.
std::vector<TuningOption> join_tuning_options();
std::vector<TuningOption> group_by_tuning_options();

/// Both as tables of Markdown, aligned for a terminal: option, paths, values, default, what it decides.
std::string tuning_tables();

}  // namespace garuda::resolve
