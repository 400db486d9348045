// The paths that are built into this library: the only list of them.
#include <algorithm>
#include <vector>

#include "operators/compute/compute_path.hpp"
#include "operators/cpu/cpu_path.hpp"
#include "operators/cuda/cuda_path.hpp"
#include "operators/graphics/graphics_path.hpp"
#include "operators/path_row.hpp"

namespace garuda::operators {
namespace {

/// Those of a device in the order of preference, where they cost the same.
std::vector<PathRow const*>& rows() {
  static std::vector<PathRow const*> all{&kCpuPath, &kGraphicsPath, &kComputePath, &kCudaPath};
  return all;
}

}  // namespace

std::span<PathRow const* const> paths() noexcept { return rows(); }

void add_path(PathRow const& row) {
  GARUDA_EXPECTS(find_path(row.path) == nullptr && row.path != Path::automatic);
  GARUDA_EXPECTS(std::ranges::none_of(rows(), [&](PathRow const* other) { return other->name == row.name; }));
  rows().push_back(&row);
}

PathRow const* find_path(Path path) noexcept {
  auto const found = std::ranges::find(rows(), path, &PathRow::path);
  return found == rows().end() ? nullptr : *found;
}

}  // namespace garuda::operators
