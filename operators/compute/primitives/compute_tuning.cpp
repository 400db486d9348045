#include "operators/compute/primitives/compute_tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "operators/resolve/tuning_text.hpp"
#include "shaders/compute/join/partitioned_join_layout.h"

namespace garuda::compute {
namespace {

constexpr std::uint32_t kGroupSize = 256;
// Tiles of 1024 x 12 keys leave long runs of bins; the driver gives such groups 64 registers an invocation, which 16
// keys spill. A scatter of 2^26 pairs by 8 bits takes 0.447 ms on an H200 (2026-11), 0.508 with 1024 x 8, 0.537 with
// 1024 x 16, 0.486 with 512 x 16.
constexpr std::uint32_t kPartitionGroupSize = 1024;
// With elements of two words, joins of 2^24 x 2^24 rows on that device, both scatters of both sides: int64 keys and
// payload 0.75 ms with 512 x 8 rows in one round, 0.87 with 1024 x 8, 1.14 with 1024 x 12 in two rounds; int64 payload
// 0.61 with 512 x 8 and a word a place, 0.88 with half words, 0.73 with 1024 x 8, 0.91 with 1024 x 12 (2026-11).
constexpr std::uint32_t kWideGroupSize = 512;
// In stable order, 2^27 pairs by 8 bits (2026-11), the scatter alone: 1024 x 12 take 0.94 ms when rows find their
// equals by five bits in shared memory and by three ballots, 0.95 by four and four, 0.96 by six and two; then 0.88 with
// counts of a bin summed by several invocations (768 x 16: 0.90, 512 x 22 in one round 0.94).
constexpr ScatterTile kLargeStableTile{1024, 12, 2, 5};
constexpr ScatterTile kSmallStableTile{512, 8, 1, 0};
// Of subgroups of 64, at most: of such groups of 1024 an invocation has 64 registers on AMD's GFX9, of which RADV (Mesa
// 22.3.6) spills up to 1855 words in a group-by's pass and 250 in a scatter; of 512 it has 128 (2026-11).
constexpr std::uint32_t kGroupSizeOfWideSubgroups = 512;
// Invocations of a subgroup that a word of shared memory has a bit for.
constexpr std::uint32_t kMaskLanes = 32;
// Bins of a pass: counters of so many fit the least shared memory there is.
constexpr std::uint32_t kMostPartitionBits = 10;
// Of a join's list in shared memory, an invocation at least: more shared memory would leave fewer workgroups resident.
constexpr std::uint32_t kListedPairs = 2;
// Of a group that scatters in stable order, at most.
constexpr std::uint32_t kMostStableSubgroups = 32;
// As many as devices have: tables in shared memory are filled by more invocations at a time.
constexpr std::uint32_t kGroupBySize = 1024;
// Rows of an invocation at a time, which passes unroll.
constexpr std::uint32_t kMostItems = 32;
// What tables of a group-by take of larger shared memories, too: more leaves too few workgroups resident.
constexpr std::uint64_t kGroupBySharedBytes = std::uint64_t{48} << 10;
// Readings before a missing tile is summed again: a software driver may run workgroups one after another.
constexpr std::uint32_t kSpinsOnSoftware = 2;
constexpr std::uint32_t kJoinTasksOnSoftware = 1;
// Items are unrolled, which software drivers compile slowly and run no faster.
constexpr std::uint32_t kGroupByItemsOnSoftware = 1;
constexpr std::uint32_t kCountItemsOnSoftware = 2;
constexpr std::uint32_t kGroupSizeOnSoftware = 512;
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

/// Of the passes over tasks of a join with wide keys; that reads columns ahead only where there is room.
std::uint64_t most_join_bytes(ComputeTuning const& tuning) {
  return std::max(join_rows_shared_bytes(tuning, 2, {}, true), join_rows_shared_bytes(tuning, 2, {}, false));
}

/// Those of joins with pairs by keys, which come first.
constexpr auto kResidentMethods = std::span(resolve::kJoinMethodChoices).first<3>();

std::span<resolve::Knob<ComputeTuning> const> knobs() {
  using Tuning = ComputeTuning;
  constexpr std::int64_t kMost = 1 << 20;
  static std::array const all{
      resolve::choice_knob("method", kResidentMethods, &Tuning::join_method),
      resolve::choice_knob("payload", resolve::kPayloadChoices, &Tuning::join_payload),
      resolve::size_knob("group", 1, kMost, &Tuning::group_size),
      resolve::size_knob("partition_group", 1, kMost, &Tuning::partition_group_size),
      resolve::size_knob("partition_items", 1, kMost, &Tuning::partition_items),
      resolve::size_knob("partition_tiles", 1, kMost, &Tuning::partition_tiles),
      resolve::size_knob("partition_rounds", 1, kMost, &Tuning::partition_rounds),
      resolve::size_knob("partition_bits", 1, kMostPartitionBits, &Tuning::partition_bits),
      resolve::size_knob("packed_places", 0, 1, &Tuning::packed_places),
      resolve::size_knob("full_tiles_apart", 0, 1, &Tuning::full_tiles_apart),
      resolve::size_knob("wide_group", 1, kMost, &Tuning::wide_group_size),
      resolve::size_knob("wide_items", 1, kMost, &Tuning::wide_items),
      resolve::size_knob("wide_rounds", 1, kMost, &Tuning::wide_rounds),
      resolve::size_knob("wide_packed", 0, 1, &Tuning::wide_packed),
      resolve::size_knob("stable_join", 0, 1, &Tuning::stable_join),
      resolve::size_knob("stable_group", 1, kMost, &Tuning::stable_group_size),
      resolve::size_knob("stable_items", 1, kMost, &Tuning::stable_items),
      resolve::size_knob("stable_rounds", 1, kMost, &Tuning::stable_rounds),
      resolve::size_knob("stable_bits", 1, kMostPartitionBits, &Tuning::stable_bits),
      resolve::size_knob("stable_mask_bits", 0, kMostPartitionBits, &Tuning::stable_mask_bits),
      resolve::size_knob("count_group", 1, kMost, &Tuning::count_group_size),
      resolve::size_knob("count_items", 1, kMostItems, &Tuning::count_items),
      resolve::size_knob("count_groups", 1, kMost, &Tuning::count_groups),
      resolve::size_knob("scan_items", 4, kMost, &Tuning::scan_items),
      resolve::size_knob("join_group", 1, kMost, &Tuning::join_group_size),
      resolve::size_knob("join_items", 1, kMost, &Tuning::join_items),
      resolve::size_knob("join_log2_slots", 1, shaders::kMaxLog2Slots, &Tuning::join_log2_slots),
      resolve::size_knob("join_tasks", 1, kMost, &Tuning::join_tasks),
      resolve::size_knob("join_groups", 1, kMost, &Tuning::join_groups),
      resolve::size_knob("group_by_size", 1, kMost, &Tuning::group_by_size),
      resolve::size_knob("group_by_items", 1, kMostItems, &Tuning::group_by_items),
  };
  return all;
}

/// What no range of a single value says.
Result<void> check_sizes(ComputeTuning const& tuning, vk::DeviceLimits const& limits) {
  auto const wrong = [](char const* what, std::uint64_t value) {
    return fail(ErrorCode::usage, fmt::format("{}: {}", what, value));
  };
  if (tuning.stable_mask_bits > 0 && tuning.subgroup_size > kMaskLanes)
    return wrong("stable_mask_bits need subgroups of at most 32 invocations", tuning.subgroup_size);
  for (auto const group :
       {tuning.group_size, tuning.partition_group_size, tuning.wide_group_size, tuning.stable_group_size,
        tuning.count_group_size, tuning.join_group_size, tuning.group_by_size}) {
    if (group == 0 || group % tuning.subgroup_size != 0 || group > limits.max_workgroup_invocations)
      return wrong("a group is a multiple of the subgroup size that the device can run", group);
  }
  if (tuning.scan_items % 4 != 0) return wrong("scan_items is a multiple of 4", tuning.scan_items);
  auto const chunk = std::uint64_t{tuning.join_group_size} * tuning.join_items;
  if (chunk > shaders::kMaxChunkRows) return wrong("a chunk has more rows than slots can name", chunk);
  if ((std::uint64_t{1} << tuning.join_log2_slots) <= chunk)
    return wrong("2^join_log2_slots has to exceed the rows of a chunk", tuning.join_log2_slots);
  auto const shared = std::max({most_join_bytes(tuning), scatter_shared_bytes(tuning, tuning.stable_bits, true),
                                scatter_shared_bytes(tuning, tuning.partition_bits, false),
                                scatter_shared_bytes(tuning, tuning.partition_bits, false, true)});
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

/// A round of a scatter pass, and what ranks its rows before.
std::uint32_t scratch_words(ComputeTuning const& tuning, std::uint32_t bits, ScatterTile const& tile, bool stable) {
  auto const items = (tile.items + tile.rounds - 1) / tile.rounds;
  // Values of two words are staged half a round at a time: of an odd number of items, the larger half.
  auto const round = tile.group_size * (items + items % 2) + 1;
  if (!stable) return round;
  auto const bins = 1U << bits;
  auto const subgroups = tile.group_size / tuning.subgroup_size;
  auto const masks = tile.mask_bits == 0 ? 0U : 1U << std::min(tile.mask_bits, bits);
  // Sums of parts of the subgroups take the place of their masks.
  auto const sums = tile.group_size >= 2 * bins ? tile.group_size / bins * bins : 0;
  return std::max(subgroups * bins + std::max(subgroups * masks, sums), round);
}

/// All that a workgroup of a scatter pass shares: besides, two words a bin, sums by subgroup, and a few words.
std::uint64_t scatter_words(ComputeTuning const& tuning, std::uint32_t bits, ScatterTile const& tile, bool stable) {
  return scratch_words(tuning, bits, tile, stable) + (std::uint64_t{2} << bits) +
         tile.group_size / tuning.subgroup_size + 2;
}

// Shared memory is memory like any other there, barriers are expensive, and what is unrolled takes long to compile.
void adapt_to_software(ComputeTuning& tuning) {
  tuning.deals_on_host = true;
  tuning.scan_spins = kSpinsOnSoftware;
  tuning.join_tasks = kJoinTasksOnSoftware;
  tuning.group_by_window_rows = kGroupByWindowRowsOnSoftware;
  tuning.group_by_in_shared = false;
  tuning.group_by_size = std::min(tuning.group_by_size, kGroupSizeOnSoftware);
  tuning.group_by_items = kGroupByItemsOnSoftware;
  tuning.count_items = kCountItemsOnSoftware;
  tuning.count_group_size = tuning.group_size;
  tuning.full_tiles_apart = false;
  tuning.partition_items = tuning.stable_items;
  tuning.partition_rounds = tuning.stable_rounds;
  tuning.partition_group_size = std::min(tuning.partition_group_size, kGroupSizeOnSoftware);
}

void fit_partitions(vk::DeviceLimits const& limits, bool is_software, ComputeTuning& tuning) {
  auto const exceeds_shared = [&] {
    return scatter_shared_bytes(tuning, tuning.partition_bits, false) > limits.max_compute_shared_memory_bytes;
  };
  // Rather than smaller tiles fewer bits: a bit more saves a pass now and then.
  if (exceeds_shared()) tuning.partition_bits = tuning.stable_bits;
  while (tuning.partition_group_size > std::max(kGroupSize, tuning.subgroup_size) && exceeds_shared())
    tuning.partition_group_size /= 2;
  while (tuning.partition_items > 4 && exceeds_shared()) tuning.partition_items /= 2;
  auto const wide_exceeds_shared = [&] {
    return scatter_shared_bytes(tuning, tuning.partition_bits, false, true) > limits.max_compute_shared_memory_bytes;
  };
  while (tuning.wide_group_size > std::max(kGroupSize, tuning.subgroup_size) && wide_exceeds_shared())
    tuning.wide_group_size /= 2;
  while (tuning.wide_items > 4 && wide_exceeds_shared()) tuning.wide_items /= 2;
  // Counters for each of many small subgroups, as software drivers have, would leave room for few rows.
  bool const is_large = !is_software && tuning.subgroup_size == kMaskLanes;
  auto const& tile = is_large ? kLargeStableTile : kSmallStableTile;
  tuning.stable_group_size =
      std::min({tuning.partition_group_size, tile.group_size, kMostStableSubgroups * tuning.subgroup_size});
  tuning.stable_items = tile.items;
  tuning.stable_rounds = tile.rounds;
  tuning.stable_mask_bits = tile.mask_bits;
}

// A chunk's rows and the table's slots, from the largest: a table always keeps empty slots, which end every search. On
// an H200, 2^24 x 2^24 rows (2026-11), the pass that writes rows takes 0.226 ms with 384 x 3 rows and 2^11 slots, 0.240
// with 320 x 4, 0.249 with 256 x 5, 0.319 with 384 x 2, 0.297 with 640 x 1, 0.360 with 640 x 2, and 0.272 with 640 x 4
// and 2^12 slots; 0.414 with 320 x 4 when it takes 32 KiB of shared memory instead of 23.
void fit_join(vk::DeviceTraits const& traits, ComputeTuning& tuning) {
  struct Sizes {
    std::uint32_t group;
    std::uint32_t items;
    std::uint32_t log2_slots;
  };
  constexpr std::array<Sizes, 4> kSizes{{{384, 3, 11}, {kGroupSize, 3, 11}, {kGroupSize, 2, 10}, {kGroupSize, 1, 9}}};
  auto const most = traits.type == vk::DeviceType::cpu ? kGroupSize : traits.limits.max_workgroup_invocations;
  for (auto const& sizes : kSizes) {
    bool const is_large = sizes.group > kGroupSize;
    if (is_large && (sizes.group > most || sizes.group % tuning.subgroup_size != 0)) continue;
    tuning.join_group_size = is_large ? sizes.group : tuning.group_size;
    tuning.join_items = sizes.items;
    tuning.join_log2_slots = sizes.log2_slots;
    if (most_join_bytes(tuning) <= traits.limits.max_compute_shared_memory_bytes) break;
  }
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
  auto const most = tuning.subgroup_size > kMaskLanes
                        ? std::min(kGroupSizeOfWideSubgroups, traits.limits.max_workgroup_invocations)
                        : traits.limits.max_workgroup_invocations;
  tuning.group_size = std::min(kGroupSize, most);
  tuning.partition_group_size = std::min(kPartitionGroupSize, most);
  tuning.wide_group_size = std::min(kWideGroupSize, most);
  tuning.count_group_size = tuning.partition_group_size;
  tuning.group_by_size = std::min(kGroupBySize, most);
  tuning.group_by_shared_bytes =
      std::min<std::uint64_t>(kGroupBySharedBytes, traits.limits.max_compute_shared_memory_bytes);
  if (traits.type == vk::DeviceType::cpu) adapt_to_software(tuning);
  fit_partitions(traits.limits, traits.type == vk::DeviceType::cpu, tuning);
  fit_join(traits, tuning);
  return tuning;
}

Result<void> apply_tuning(std::string_view text, vk::DeviceLimits const& limits, ComputeTuning& tuning) {
  GARUDA_TRY_ASSIGN(tuning, resolve::parse_tuning(knobs(), text, tuning));
  return check_sizes(tuning, limits);
}

std::uint32_t join_rows_scratch_words(ComputeTuning const& tuning, std::uint32_t key_words, ColumnsAhead const& ahead,
                                      bool listed) noexcept {
  auto const chunk = tuning.join_group_size * tuning.join_items;
  // Order, keys and slots; behind the look-ups where matches begin, keys, and both sides' columns.
  if (listed)
    return (1 + key_words) * chunk +
           std::max(1U << tuning.join_log2_slots, (ahead.build_words + ahead.probe_words) * chunk);
  // Keys, chains, the build side's column; slots, then a column, or the probe side's column and a list of pairs.
  auto const list = ahead.probe_words * chunk + kListedPairs * tuning.join_group_size;
  return (key_words + 1 + ahead.build_words) * chunk + std::max({1U << tuning.join_log2_slots, chunk, list});
}

std::uint64_t join_rows_shared_bytes(ComputeTuning const& tuning, std::uint32_t key_words, ColumnsAhead const& ahead,
                                     bool listed) noexcept {
  auto const subgroups = tuning.join_group_size / tuning.subgroup_size;
  // Besides: sums by subgroup, and a few words.
  return 4 * (std::uint64_t{join_rows_scratch_words(tuning, key_words, ahead, listed)} + subgroups + 8);
}

ScatterTile scatter_tile(ComputeTuning const& tuning, std::uint32_t bits, bool stable, bool wide) noexcept {
  if (!stable && wide) return {tuning.wide_group_size, tuning.wide_items, tuning.wide_rounds, 0, tuning.wide_packed};
  if (!stable)
    return {tuning.partition_group_size, tuning.partition_items, tuning.partition_rounds, 0, tuning.packed_places};
  ScatterTile tile{tuning.stable_group_size, tuning.stable_items, tuning.stable_rounds, tuning.stable_mask_bits,
                   tuning.packed_places};
  auto const fits = [&] { return 4 * scatter_words(tuning, bits, tile, stable) <= tuning.shared_bytes; };
  if (!fits()) {
    auto const& small = kSmallStableTile;
    tile = {std::min(tile.group_size, small.group_size), std::min(tile.items, small.items), small.rounds,
            small.mask_bits, tuning.packed_places};
  }
  while (tile.group_size > tuning.subgroup_size && !fits())
    tile.group_size = tile.group_size / 2 / tuning.subgroup_size * tuning.subgroup_size;
  return tile;
}

std::uint32_t scatter_scratch_words(ComputeTuning const& tuning, std::uint32_t bits, bool stable, bool wide) noexcept {
  return scratch_words(tuning, bits, scatter_tile(tuning, bits, stable, wide), stable);
}

std::uint64_t scatter_shared_bytes(ComputeTuning const& tuning, std::uint32_t bits, bool stable, bool wide) noexcept {
  return 4 * scatter_words(tuning, bits, scatter_tile(tuning, bits, stable, wide), stable);
}

}  // namespace garuda::compute
