// A join as the drivers take it.
#pragma once

#include <string>
#include <vector>

#include "garuda/join.hpp"
#include "garuda/table.hpp"
#include "operators/contract/device_set.hpp"
#include "operators/resolve/join_columns.hpp"

namespace garuda::resolve {

/// A join resolved against its tables, and what it may run on. What the views and `devices` refer to outlives every
/// result.
struct JoinRequest {
  TableView left;
  TableView right;
  JoinSpec spec;
  ResolvedJoin columns;
  JoinOptions options;
  contract::DeviceSet* devices = nullptr;
  std::vector<std::string> notes{};  ///< for the plan: what was decided before
};

}  // namespace garuda::resolve
