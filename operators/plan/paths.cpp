// The paths that are built into this library: the only list of them.
#include "operators/plan/paths.hpp"

#include <algorithm>
#include <vector>

#include "operators/cpu/cpu_path.hpp"
#include "operators/cuda/cuda_path.hpp"
#include "operators/graphics/group_by/graphics_path.hpp"
#include "operators/placement/compute_path.hpp"

namespace garuda::plan {
namespace {

/// The table of paths; those of a device come in the order of preference, for when they cost the same.
std::vector<contract::PathRow const*>& rows() {
  static std::vector<contract::PathRow const*> all{&cpu::kCpuPath, &graphics::kGraphicsPath, &placement::kComputePath,
                                                   &cuda::kCudaPath};
  return all;
}

}  // namespace

std::span<contract::PathRow const* const> paths() noexcept { return rows(); }

void add_path(contract::PathRow const& row) {
  GARUDA_EXPECTS(find_path(row.path) == nullptr && row.path != Path::automatic);
  GARUDA_EXPECTS(std::ranges::none_of(rows(), [&](contract::PathRow const* other) { return other->name == row.name; }));
  rows().push_back(&row);
}

contract::PathRow const* find_path(Path path) noexcept {
  auto const found = std::ranges::find(rows(), path, &contract::PathRow::path);
  return found == rows().end() ? nullptr : *found;
}

}  // namespace garuda::plan
