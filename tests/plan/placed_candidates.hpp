// Candidates whose tables are placed on a device, as the planner's tests look for them.
#pragma once

#include <string>

#include "garuda/plan.hpp"

namespace garuda::plan {

template <class Options>
Options two_threads() {
  Options options;
  options.threads = 2;
  return options;
}

inline bool is_placed(Candidate const& candidate) {
  return candidate.choices.find("placement=device") != std::string::npos;
}

}  // namespace garuda::plan
