// The request that drivers of group-bys work on.
#pragma once

#include <string>
#include <vector>

#include "garuda/group_by.hpp"
#include "garuda/table.hpp"
#include "operators/contract/device_set.hpp"
#include "operators/resolve/group_by_columns.hpp"

namespace garuda::resolve {

/// A group-by resolved against its table, and the devices that it may run on. The view and `devices` refer to objects
/// that outlive every result.
struct GroupByRequest {
  TableView table;
  GroupBySpec spec;
  ResolvedGroupBy columns;
  GroupByOptions options;
  contract::DeviceSet* devices = nullptr;
  std::vector<std::string> notes{};  ///< for the plan: what was decided before
};

}  // namespace garuda::resolve
