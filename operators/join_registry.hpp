// The paths that can run a join: one row each.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "garuda/error.hpp"
#include "garuda/plan.hpp"
#include "operators/device_set.hpp"
#include "operators/join_kernel.hpp"

namespace garuda::operators {

/// One path of the join.
struct JoinPath {
  Path path = Path::cpu;
  bool needs_device = false;
  /// Opens the path for one join; `device` is empty when the path needs none.
  Result<std::unique_ptr<JoinBackend>> (*open)(OpenDevice device, BackendOptions const& options) = nullptr;
};

/// All paths built into this library.
std::span<JoinPath const> join_paths() noexcept;

/// The row of `path`, or nullptr when it is not built in.
JoinPath const* find_join_path(Path path) noexcept;

}  // namespace garuda::operators
