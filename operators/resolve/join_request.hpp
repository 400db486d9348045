// A join as the drivers take it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "garuda/table.hpp"
#include "operators/contract/device_set.hpp"
#include "operators/resolve/built_side.hpp"
#include "operators/resolve/join_columns.hpp"

namespace garuda::resolve {

/// A join resolved against its tables, and the devices that it may run on. The views and `devices` refer to objects
/// that outlive every result.
struct JoinRequest {
  TableView left;
  TableView right;
  JoinSpec spec;
  ResolvedJoin columns;
  JoinOptions options;
  contract::DeviceSet* devices = nullptr;
  std::vector<std::string> notes{};  ///< for the plan: what was decided before
  /// The right side, where it was made before; it has the key columns in the order of `columns`.
  std::shared_ptr<BuiltSide const> build{};

  TableView const& of(Side side) const noexcept { return side == Side::left ? left : right; }
};

/// The columns of a side that the join reads, each once, ascending: resolved against them alone, it is the same join.
/// Errors: invalid_input, for names of the condition.
Result<std::vector<std::size_t>> columns_read(JoinRequest const& request, Side side);

}  // namespace garuda::resolve
