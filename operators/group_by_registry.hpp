// The paths that can run a group-by: one row each.
#pragma once

#include <memory>
#include <span>

#include "garuda/error.hpp"
#include "garuda/plan.hpp"
#include "operators/device_set.hpp"
#include "operators/group_by_kernel.hpp"

namespace garuda::operators {

/// One path of the group-by.
struct GroupByPath {
  Path path = Path::cpu;
  bool needs_device = false;
  /// Opens the path for one group-by; `device` is empty when the path needs none.
  Result<std::unique_ptr<GroupByBackend>> (*open)(OpenDevice device, GroupByBackendOptions const& options) = nullptr;
  /// True when the path may also take the whole table at once: operators/cpu/whole_group_by.hpp.
  bool takes_whole_tables = false;
};

/// All paths built into this library.
std::span<GroupByPath const> group_by_paths() noexcept;

/// The row of `path`, or nullptr when it is not built in.
GroupByPath const* find_group_by_path(Path path) noexcept;

}  // namespace garuda::operators
