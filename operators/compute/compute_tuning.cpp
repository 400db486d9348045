#include "operators/compute/compute_tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <utility>

#include "shaders/compute/partitioned_join_layout.h"

namespace garuda::operators {
namespace {

constexpr std::uint32_t kGroupSize = 256;
constexpr std::uint32_t kPartitionGroupSize = 512;
// Invocations of a subgroup that a word of shared memory has a bit for.
constexpr std::uint32_t kMaskLanes = 32;
// Bins of a pass: counters of so many fit the least shared memory there is.
constexpr std::uint32_t kMostPartitionBits = 10;
constexpr std::uint32_t kGroupBySize = 512;
constexpr std::uint32_t kWaysToGroup = 3;
constexpr std::uint32_t kMostGroupByItems = 32;
constexpr std::uint32_t kMostGroupByBits = 24;
// What tables of a group-by take of larger shared memories, too: more leaves too few workgroups resident.
constexpr std::uint64_t kGroupBySharedBytes = std::uint64_t{48} << 10;
// Readings before a missing tile is summed again: a software driver may run workgroups one after another.
constexpr std::uint32_t kSpinsOnSoftware = 2;
// llvmpipe ends the loops of an invocation after 65535 iterations in all; one workgroup may have to write a whole
// window.
constexpr std::uint64_t kWindowRowsOnSoftware = std::uint64_t{1} << 18;
// Items are unrolled, which software drivers compile slowly and run no faster.
constexpr std::uint32_t kGroupByItemsOnSoftware = 1;
constexpr std::uint64_t kGroupByWindowRowsOnSoftware = std::uint64_t{1} << 13;

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

/// Names of what apply_tuning changes.
constexpr std::array<std::pair<std::string_view, std::uint32_t ComputeTuning::*>, 14> kNames{
    {{"partition_group", &ComputeTuning::partition_group_size},
     {"stable_group", &ComputeTuning::stable_group_size},
     {"partition_items", &ComputeTuning::partition_items},
     {"partition_tiles", &ComputeTuning::partition_tiles},
     {"partition_bits", &ComputeTuning::partition_bits},
     {"scan_items", &ComputeTuning::scan_items},
     {"join_group", &ComputeTuning::join_group_size},
     {"join_items", &ComputeTuning::join_items},
     {"join_log2_slots", &ComputeTuning::join_log2_slots},
     {"group_by_size", &ComputeTuning::group_by_size},
     {"group_by_items", &ComputeTuning::group_by_items},
     {"group_by_way", &ComputeTuning::group_by_way},
     {"group_by_bits", &ComputeTuning::group_by_bits},
     {"group_by_slots", &ComputeTuning::group_by_slots}}};

constexpr std::array<std::pair<std::string_view, bool ComputeTuning::*>, 3> kSwitches{
    {{"stable_join", &ComputeTuning::stable_join},
     {"stable_masks", &ComputeTuning::stable_masks},
     {"stable_pairs", &ComputeTuning::stable_pairs}}};

Result<void> apply(std::string_view entry, ComputeTuning& tuning) {
  auto const equals = entry.find('=');
  auto const name = entry.substr(0, equals);
  auto const text = equals == std::string_view::npos ? std::string_view() : entry.substr(equals + 1);
  std::uint32_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty())
    return fail(ErrorCode::usage, fmt::format("not a tuning of the compute path (name=number): '{}'", entry));
  for (auto const& [known, member] : kSwitches) {
    if (name != known || value > 1) continue;
    tuning.*member = value == 1;
    return {};
  }
  for (auto const& [known, member] : kNames) {
    if (known != name) continue;
    tuning.*member = value;
    return {};
  }
  return fail(ErrorCode::usage, fmt::format("unknown tuning of the compute path: '{}'", entry));
}

Result<void> check_sizes(ComputeTuning const& tuning, vk::DeviceLimits const& limits) {
  auto const wrong = [](char const* what, std::uint64_t value) {
    return fail(ErrorCode::usage, fmt::format("{}: {}", what, value));
  };
  if (tuning.stable_masks && tuning.subgroup_size > kMaskLanes)
    return wrong("stable_masks needs subgroups of at most 32 invocations", tuning.subgroup_size);
  for (auto const group :
       {tuning.partition_group_size, tuning.stable_group_size, tuning.join_group_size, tuning.group_by_size}) {
    if (group == 0 || group % tuning.subgroup_size != 0 || group > limits.max_workgroup_invocations)
      return wrong("a group is a multiple of the subgroup size that the device can run", group);
  }
  if (tuning.partition_items == 0 || tuning.partition_tiles == 0 || tuning.join_items == 0 ||
      tuning.group_by_items == 0)
    return wrong("items and tiles are at least 1", 0);
  if (tuning.partition_bits == 0 || tuning.partition_bits > kMostPartitionBits)
    return wrong("partition_bits are 1 to 10", tuning.partition_bits);
  if (tuning.group_by_items > kMostGroupByItems) return wrong("group_by_items are 1 to 32", tuning.group_by_items);
  if (tuning.group_by_way > kWaysToGroup) return wrong("group_by_way is 0 to 3", tuning.group_by_way);
  if (tuning.group_by_bits > kMostGroupByBits) return wrong("group_by_bits are 0 to 24", tuning.group_by_bits);
  if (tuning.scan_items == 0 || tuning.scan_items % 4 != 0)
    return wrong("scan_items is a multiple of 4", tuning.scan_items);
  auto const chunk = std::uint64_t{tuning.join_group_size} * tuning.join_items;
  if (chunk > shaders::kMaxChunkRows) return wrong("a chunk has more rows than slots can name", chunk);
  if (tuning.join_log2_slots > shaders::kMaxLog2Slots || (std::uint64_t{1} << tuning.join_log2_slots) <= chunk)
    return wrong("2^join_log2_slots has to exceed the rows of a chunk", tuning.join_log2_slots);
  auto const shared = std::max({join_shared_bytes(tuning, 2), scatter_shared_bytes(tuning, tuning.partition_bits, true),
                                scatter_shared_bytes(tuning, tuning.partition_bits, false)});
  if (shared > limits.max_compute_shared_memory_bytes) return wrong("more shared memory than the device has", shared);
  return {};
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

/// A tile of a scatter pass, and what ranks its rows before.
std::uint32_t scratch_words(ComputeTuning const& tuning, std::uint32_t bits, std::uint32_t group, bool stable) {
  auto const tile = group * tuning.partition_items + 1;
  if (!stable) return tile;
  auto const counters = (tuning.stable_masks ? 2 : 1) * (group / tuning.subgroup_size) << bits;
  return std::max(counters, (tuning.stable_pairs ? 2 : 1) * tile);
}

/// All that a workgroup of a scatter pass shares: besides, two words a bin, sums by subgroup, and a few words.
std::uint64_t scatter_words(ComputeTuning const& tuning, std::uint32_t bits, std::uint32_t group, bool stable) {
  return scratch_words(tuning, bits, group, stable) + (std::uint64_t{2} << bits) + group / tuning.subgroup_size + 2;
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
  tuning.shared_bytes = traits.limits.max_compute_shared_memory_bytes;
  auto const group = std::min(kGroupSize, traits.limits.max_workgroup_invocations);
  tuning.group_size = group;
  // 512 x 8 keys: a scatter of 2^24 keys takes 0.24 ms on an H200 (2026-11), 0.37 ms with 256 x 16.
  tuning.partition_group_size = std::min(kPartitionGroupSize, traits.limits.max_workgroup_invocations);
  if (traits.type == vk::DeviceType::cpu) {
    tuning.scan_spins = kSpinsOnSoftware;
    tuning.join_window_rows = kWindowRowsOnSoftware;
    // Shared memory is memory like any other there.
    tuning.group_by_window_rows = kGroupByWindowRowsOnSoftware;
    tuning.group_by_in_shared = false;
    tuning.group_by_items = kGroupByItemsOnSoftware;
  }
  while (tuning.partition_items > 4 &&
         scatter_shared_bytes(tuning, tuning.partition_bits, false) > traits.limits.max_compute_shared_memory_bytes)
    tuning.partition_items /= 2;
  // Small subgroups, as software drivers have, would need as many masks as counters for few rows each.
  tuning.stable_masks = tuning.subgroup_size == kMaskLanes;
  tuning.stable_group_size = std::min(tuning.partition_group_size, 16 * tuning.subgroup_size);
  tuning.join_group_size = group;
  tuning.group_by_size = std::min(kGroupBySize, traits.limits.max_workgroup_invocations);
  tuning.group_by_shared_bytes =
      std::min<std::uint64_t>(kGroupBySharedBytes, traits.limits.max_compute_shared_memory_bytes);
  // A chunk's rows and the table's slots, from the largest: a table always keeps empty slots, which end every search.
  // On an H200, 2^24 x 2^24 rows (2026-11), the join pass takes 0.62 ms with 3 rows and 2^11 slots, 0.81 ms with 5, and
  // 1.19 ms with 9 and 2^12, of which fewer workgroups are resident.
  constexpr std::array<std::array<std::uint32_t, 2>, 3> kSizes{{{3, 11}, {2, 10}, {1, 9}}};
  for (auto const& [items, log2_slots] : kSizes) {
    tuning.join_items = items;
    tuning.join_log2_slots = log2_slots;
    if (join_shared_bytes(tuning, 2) <= traits.limits.max_compute_shared_memory_bytes) break;
  }
  return tuning;
}

Result<void> apply_tuning(std::string_view text, vk::DeviceLimits const& limits, ComputeTuning& tuning) {
  while (!text.empty()) {
    auto const comma = text.find(',');
    GARUDA_TRY(apply(text.substr(0, comma), tuning));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return check_sizes(tuning, limits);
}

std::uint32_t join_scratch_words(ComputeTuning const& tuning, std::uint32_t key_words) noexcept {
  auto const chunk = tuning.join_group_size * tuning.join_items;
  // Order, keys and slots; then order, positions, matches and a staged column.
  return std::max((1 + key_words) * chunk + (1U << tuning.join_log2_slots), 4 * chunk);
}

std::uint64_t join_shared_bytes(ComputeTuning const& tuning, std::uint32_t key_words) noexcept {
  auto const subgroups = tuning.join_group_size / tuning.subgroup_size;
  // Besides: sums by subgroup, by item and subgroup, and a few words.
  return 4 * (std::uint64_t{join_scratch_words(tuning, key_words)} + subgroups + tuning.join_items * subgroups + 8);
}

std::uint32_t scatter_group_size(ComputeTuning const& tuning, std::uint32_t bits, bool stable) noexcept {
  if (!stable) return tuning.partition_group_size;
  auto group = tuning.stable_group_size;
  while (group > tuning.subgroup_size && 4 * scatter_words(tuning, bits, group, stable) > tuning.shared_bytes)
    group = group / 2 / tuning.subgroup_size * tuning.subgroup_size;
  return group;
}

std::uint32_t scatter_scratch_words(ComputeTuning const& tuning, std::uint32_t bits, bool stable) noexcept {
  return scratch_words(tuning, bits, scatter_group_size(tuning, bits, stable), stable);
}

std::uint64_t scatter_shared_bytes(ComputeTuning const& tuning, std::uint32_t bits, bool stable) noexcept {
  return 4 * scatter_words(tuning, bits, scatter_group_size(tuning, bits, stable), stable);
}

}  // namespace garuda::operators
