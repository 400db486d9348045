// Results whose strings and binary are views.
#pragma once

#include <memory>

#include "garuda/run.hpp"

namespace garuda::materialize {

/// `result`, its columns of strings and binary that are not views yet as views of its batches' bytes.
std::unique_ptr<QueryResult> viewed_result(std::unique_ptr<QueryResult> result);

}  // namespace garuda::materialize
