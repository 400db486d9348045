#include "operators/compute/sorted_groups.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "shaders/compute/group_states_layout.h"

namespace garuda::operators {
namespace {

constexpr std::string_view kCountHeads = "compute/count_heads.comp";
constexpr std::string_view kAggregateSorted = "compute/aggregate_sorted.comp";
constexpr std::string_view kCloseGroups = "compute/close_groups.comp";
// Rows of a window an invocation, at most: all their groups have states in shared memory.
constexpr std::uint32_t kMostItems = 4;

struct WindowShape {
  std::uint32_t group = 0;
  std::uint32_t items = 1;

  std::uint32_t rows() const noexcept { return group * items; }
};

/// The largest windows whose states fit: every row may begin a group.
WindowShape window_shape(std::uint32_t state_words, ComputeTuning const& tuning) noexcept {
  WindowShape shape{tuning.group_by_size, kMostItems};
  auto const fits = [&] {
    auto const sums = shape.group / tuning.subgroup_size + 8;
    return 4 * (std::uint64_t{state_words} * (shape.rows() + 1) + sums) <= tuning.group_by_shared_bytes;
  };
  while (shape.items > 1 && !fits()) shape.items /= 2;
  while (shape.group / 2 % tuning.subgroup_size == 0 && shape.group / 2 >= tuning.subgroup_size && !fits())
    shape.group /= 2;
  return shape;
}

PassShape pass_shape(std::string_view entry, std::vector<vk::SpecConstant> const& constants, WindowShape window) {
  PassShape shape{entry, window.group, window.items, sizeof(shaders::SortedRowsPush), constants};
  if (entry == kAggregateSorted) shape.constants.push_back({shaders::kSpecSlots, window.rows()});
  return shape;
}

PassShape close_shape(std::vector<vk::SpecConstant> const& constants) {
  return {kCloseGroups, 0, 1, sizeof(shaders::SortedRowsPush), constants};
}

}  // namespace

Result<SortedGroups> SortedGroups::create(ComputeContext& context, DeviceRows rows, std::uint32_t bits,
                                          std::vector<vk::SpecConstant> constants, std::uint32_t state_words) {
  auto const num_rows = rows.rows;
  GARUDA_TRY_ASSIGN(auto sorted, SortedSide::create(context, std::move(rows), bits));
  SortedGroups groups(std::move(sorted));
  groups.constants_ = std::move(constants);
  groups.state_words_ = state_words;
  groups.num_windows_ = groups_for(num_rows, window_shape(state_words, context.tuning()).rows());
  auto const counts = groups.num_windows_ + 1;
  GARUDA_TRY_ASSIGN(groups.heads_, context.device_buffer(counts * 4, "groups of windows"));
  GARUDA_TRY_ASSIGN(groups.bases_, context.device_buffer(counts * 4, "first groups of windows"));
  GARUDA_TRY_ASSIGN(groups.table_, context.device_buffer(counts * (1 + std::uint64_t{state_words}) * 4, "open groups"));
  GARUDA_TRY_ASSIGN(groups.scan_, DeviceScan::create(context, counts));
  return groups;
}

Result<void> SortedGroups::record_groups(ComputeContext& context, char const* phase, GroupTargets const& targets) {
  auto const window = window_shape(state_words_, context.tuning());
  shaders::SortedRowsPush push{};
  push.keys = rows_.keys().address();
  push.values = targets.values;
  push.heads = heads_.address();
  push.bases = bases_.address();
  push.table = table_.address();
  push.targets = targets.targets;
  push.state = targets.state;
  push.num_rows = static_cast<std::uint32_t>(rows_.rows());
  push.window_rows = window.rows();
  push.num_windows = static_cast<std::uint32_t>(num_windows_);
  push.capacity = static_cast<std::uint32_t>(targets.capacity);
  GARUDA_TRY(context.fill(phase, table_, 0));
  auto const rows = rows_.rows();
  GARUDA_TRY(context.dispatch(phase, pass_shape(kCountHeads, constants_, window), push, num_windows_ + 1, rows));
  GARUDA_TRY(scan_.record(context, phase, {heads_.address(), bases_.address(), num_windows_ + 1}));
  GARUDA_TRY(context.dispatch(phase, pass_shape(kAggregateSorted, constants_, window), push, num_windows_, rows));
  return context.dispatch(phase, close_shape(constants_), push, groups_for(num_windows_, context.tuning().group_size),
                          num_windows_);
}

std::vector<vk::ComputePipelineSpec> SortedGroups::pipelines(std::vector<vk::SpecConstant> const& constants,
                                                             std::uint32_t state_words, ComputeTuning const& tuning) {
  auto const window = window_shape(state_words, tuning);
  return {compute_pipeline(pass_shape(kCountHeads, constants, window), tuning),
          compute_pipeline(pass_shape(kAggregateSorted, constants, window), tuning),
          compute_pipeline(close_shape(constants), tuning)};
}

}  // namespace garuda::operators
