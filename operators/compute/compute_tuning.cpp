#include "operators/compute/compute_tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace garuda::operators {
namespace {

constexpr std::uint32_t kGroupSize = 256;
// Readings before a missing tile is summed again: a software driver may run workgroups one after another.
constexpr std::uint32_t kSpinsOnSoftware = 2;

Result<std::uint32_t> choose_subgroup_size(vk::DeviceTraits const& traits, std::optional<std::uint32_t> forced) {
  auto const& subgroup = traits.subgroup;
  auto const size = forced.value_or(subgroup.size);
  bool const can_choose = traits.features.subgroup_size_control && subgroup.selectable_in_compute;
  auto const least = can_choose ? subgroup.min_size : subgroup.size;
  auto const most = can_choose ? subgroup.max_size : subgroup.size;
  if (std::has_single_bit(size) && size >= least && size <= most && size >= 4 && size <= 128) return size;
  return fail(ErrorCode::no_device, fmt::format("{} has subgroups of {} to {} invocations (4 to 128 are used): {}",
                                                traits.name, least, most, size));
}

Result<void> check_features(vk::DeviceTraits const& traits) {
  auto const missing = [&](char const* what) {
    return fail(ErrorCode::no_device, fmt::format("the compute path cannot run on {}: it lacks {}", traits.name, what));
  };
  auto const& subgroup = traits.subgroup;
  if (!traits.features.buffer_device_address) return missing("bufferDeviceAddress");
  if (!subgroup.stages.compute || !subgroup.basic || !subgroup.vote || !subgroup.arithmetic || !subgroup.ballot)
    return missing("basic, vote, arithmetic and ballot subgroup operations in compute shaders");
  return {};
}

}  // namespace

Result<ComputeTuning> compute_tuning(vk::DeviceTraits const& traits, std::optional<std::uint32_t> subgroup_size) {
  GARUDA_TRY(check_features(traits));
  ComputeTuning tuning;
  GARUDA_TRY_ASSIGN(tuning.subgroup_size, choose_subgroup_size(traits, subgroup_size));
  auto const& subgroup = traits.subgroup;
  tuning.require_subgroup_size =
      subgroup.min_size != subgroup.max_size && traits.features.subgroup_size_control && subgroup.selectable_in_compute;
  tuning.full_subgroups = traits.features.compute_full_subgroups;
  auto const group = std::min(kGroupSize, traits.limits.max_workgroup_invocations);
  tuning.group_size = group;
  tuning.partition_group_size = group;
  if (traits.type == vk::DeviceType::cpu) tuning.scan_spins = kSpinsOnSoftware;
  while (tuning.partition_items > 4 &&
         scatter_shared_bytes(tuning, tuning.partition_bits, false) > traits.limits.max_compute_shared_memory_bytes)
    tuning.partition_items /= 2;
  tuning.stable_group_size = std::min(group, 16 * tuning.subgroup_size);
  while (tuning.stable_group_size > tuning.subgroup_size &&
         scatter_shared_bytes(tuning, tuning.partition_bits, true) > traits.limits.max_compute_shared_memory_bytes)
    tuning.stable_group_size /= 2;
  return tuning;
}

std::uint64_t scatter_shared_bytes(ComputeTuning const& tuning, std::uint32_t bits, bool stable) noexcept {
  std::uint64_t const bins = std::uint64_t{1} << bits;
  std::uint64_t const group = stable ? tuning.stable_group_size : tuning.partition_group_size;
  auto const subgroups = group / tuning.subgroup_size;
  auto const tile = group * tuning.partition_items;
  auto const scratch = stable ? std::max(tile, subgroups * bins) : tile;
  return 4 * (scratch + 3 * bins + subgroups + 1);
}

}  // namespace garuda::operators
