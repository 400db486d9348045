#include "operators/compute/primitives/compute_context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "core/stopwatch.hpp"
#include "operators/vulkan/vulkan_devices.hpp"
#include "shaders/compute/join/partitioned_join_layout.h"
#include "shaders/embedded.hpp"
#include "shaders/primitives/primitives_layout.h"

namespace garuda::compute {
namespace {

constexpr std::uint32_t kGroupSize = 256;
// Tiles of 1024 x 12 keys leave long runs of bins; the driver gives such groups 64 registers an invocation, which 16
// keys spill. A scatter of 2^26 pairs by 8 bits takes 0.447 ms on an H200 (2026-11), 0.508 with 1024 x 8, 0.537 with
// 1024 x 16, 0.486 with 512 x 16.
constexpr ScatterTile kTile{1024, 12, 2, 0, true, true};
// With elements of two words, joins of 2^24 x 2^24 rows on that device, both scatters of both sides: int64 keys and
// payload 0.75 ms with 512 x 8 rows in one round, 0.87 with 1024 x 8, 1.14 with 1024 x 12 in two rounds; int64 payload
// 0.61 with 512 x 8 and a word a place, 0.88 with half words, 0.73 with 1024 x 8, 0.91 with 1024 x 12 (2026-11).
constexpr ScatterTile kWideTile{512, 8, 1, 0, false, true};
constexpr ScatterTile kSoftwareTile{512, 8, 1, 0, true, false};
// In stable order, 2^27 pairs by 8 bits (2026-11), the scatter alone: 1024 x 12 take 0.94 ms when rows find their
// equals by five bits in shared memory and by three ballots, 0.95 by four and four, 0.96 by six and two; then 0.88 with
// counts of a bin summed by several invocations (768 x 16: 0.90, 512 x 22 in one round 0.94).
constexpr ScatterTile kLargeStableTile{1024, 12, 2, 5, true, true};
constexpr ScatterTile kSmallStableTile{512, 8, 1, 0, true, true};
// Largest group of subgroups of 64: in groups of 1024 an invocation has 64 registers on AMD's GFX9, of which RADV (Mesa
// 22.3.6) spills up to 1855 words in a group-by's pass and 250 in a scatter; of 512 it has 128 (2026-11).
constexpr std::uint32_t kGroupSizeOfWideSubgroups = 512;
// Invocations of a subgroup that a word of shared memory has a bit for.
constexpr std::uint32_t kMaskLanes = 32;
// Bins of a pass: counters of so many fit the least shared memory there is.
constexpr std::uint32_t kMostPartitionBits = 10;
// Least pairs an invocation in a join's list in shared memory: more memory would leave fewer workgroups resident.
constexpr std::uint32_t kListedPairs = 2;
// Most subgroups of a group that scatters in stable order.
constexpr std::uint32_t kMostStableSubgroups = 32;
constexpr std::uint32_t kFewestTileItems = 4;
// Readings before a missing tile is summed again: a software driver may run workgroups one after another.
constexpr std::uint32_t kSpinsOnSoftware = 2;
constexpr std::uint32_t kGroupSizeOnSoftware = 512;

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

/// Bytes of the passes over tasks of a join with wide keys, which read columns ahead only where there is room.
std::uint64_t most_join_bytes(ComputeTuning const& tuning) {
  return std::max(join_rows_shared_bytes(tuning, 2, {}, true), join_rows_shared_bytes(tuning, 2, {}, false));
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

/// Bytes that a workgroup of a scatter pass shares: besides, two words a bin, sums by subgroup, and a few words.
std::uint64_t shared_bytes(ComputeTuning const& tuning, std::uint32_t bits, ScatterTile const& tile, bool stable) {
  return 4 * (scratch_words(tuning, bits, tile, stable) + (std::uint64_t{2} << bits) +
              tile.group_size / tuning.subgroup_size + 2);
}

/// The tile of passes in any order before it is made to fit.
ScatterTile wanted_tile(ComputeTuning const& tuning, bool wide) {
  auto tile = wide ? kWideTile : tuning.is_software ? kSoftwareTile : kTile;
  tile.group_size = std::min(tile.group_size, tuning.most_group_size);
  tile.full_apart = !tuning.is_software;
  return tile;
}

/// One tile serves all digits, so that it fits shared memory with the most bits.
ScatterTile tile_in_any_order(ComputeTuning const& tuning, bool wide) {
  auto tile = wanted_tile(tuning, wide);
  auto const exceeds = [&] { return shared_bytes(tuning, partition_bits(tuning), tile, false) > tuning.shared_bytes; };
  while (tile.group_size > std::max(kGroupSize, tuning.subgroup_size) && exceeds()) tile.group_size /= 2;
  while (tile.items > kFewestTileItems && exceeds()) tile.items /= 2;
  return tile;
}

ScatterTile tile_in_stable_order(ComputeTuning const& tuning, std::uint32_t bits) {
  // Counters for each of many small subgroups, as software drivers have, would leave room for few rows.
  bool const is_large = !tuning.is_software && tuning.subgroup_size == kMaskLanes;
  auto tile = is_large ? kLargeStableTile : kSmallStableTile;
  tile.full_apart = !tuning.is_software;
  tile.group_size = std::min(
      {tile_in_any_order(tuning, false).group_size, tile.group_size, kMostStableSubgroups * tuning.subgroup_size});
  if (is_large && shared_bytes(tuning, bits, tile, true) > tuning.shared_bytes) {
    auto const group_size = std::min(tile.group_size, kSmallStableTile.group_size);
    tile = kSmallStableTile;
    tile.group_size = group_size;
  }
  return tile;
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
  auto const most = tuning.is_software ? kGroupSize : traits.limits.max_workgroup_invocations;
  if (tuning.is_software) tuning.join.tasks = 1;
  for (auto const& sizes : kSizes) {
    bool const is_large = sizes.group > kGroupSize;
    if (is_large && (sizes.group > most || sizes.group % tuning.subgroup_size != 0)) continue;
    tuning.join.group_size = is_large ? sizes.group : tuning.group_size;
    tuning.join.items = sizes.items;
    tuning.join.log2_slots = sizes.log2_slots;
    if (most_join_bytes(tuning) <= tuning.shared_bytes) break;
  }
}

// Every access that compute passes, their fills, copies and indirect dispatches make.
constexpr vk::ResourceUse kWorked{VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
                                  VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT |
                                      VK_ACCESS_2_TRANSFER_READ_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                  VK_IMAGE_LAYOUT_UNDEFINED};
constexpr vk::ResourceUse kWorkAhead{kWorked.stages | VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT,
                                     kWorked.access | VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT, VK_IMAGE_LAYOUT_UNDEFINED};

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
  tuning.most_group_size = tuning.subgroup_size > kMaskLanes
                               ? std::min(kGroupSizeOfWideSubgroups, traits.limits.max_workgroup_invocations)
                               : traits.limits.max_workgroup_invocations;
  tuning.is_software = traits.type == vk::DeviceType::cpu;
  tuning.native_floats = traits.features.exact_float64();
  tuning.group_size = std::min(kGroupSize, tuning.most_group_size);
  if (tuning.is_software) tuning.scan_spins = kSpinsOnSoftware;
  fit_join(traits, tuning);
  return tuning;
}

std::uint32_t table_group_size(ComputeTuning const& tuning) noexcept {
  // As many as devices have: tables in shared memory are filled by more invocations at a time.
  return std::min(tuning.is_software ? kGroupSizeOnSoftware : 1024U, tuning.most_group_size);
}

std::uint32_t join_rows_scratch_words(ComputeTuning const& tuning, std::uint32_t key_words, ColumnsAhead const& ahead,
                                      bool listed) noexcept {
  auto const& join = tuning.join;
  auto const chunk = join.group_size * join.items;
  // Order, keys and slots; behind the look-ups where matches begin, keys, and both sides' columns.
  if (listed)
    return (1 + key_words) * chunk + std::max(1U << join.log2_slots, (ahead.build_words + ahead.probe_words) * chunk);
  // Keys, chains, the build side's column; slots, then a column, or the probe side's column and a list of pairs.
  auto const list = ahead.probe_words * chunk + kListedPairs * join.group_size;
  return (key_words + 1 + ahead.build_words) * chunk + std::max({1U << join.log2_slots, chunk, list});
}

std::uint64_t join_rows_shared_bytes(ComputeTuning const& tuning, std::uint32_t key_words, ColumnsAhead const& ahead,
                                     bool listed) noexcept {
  auto const subgroups = tuning.join.group_size / tuning.subgroup_size;
  // Besides: sums by subgroup, and a few words.
  return 4 * (std::uint64_t{join_rows_scratch_words(tuning, key_words, ahead, listed)} + subgroups + 8);
}

std::uint32_t partition_bits(ComputeTuning const& tuning) noexcept {
  // Rather than smaller tiles fewer bits: a bit more saves a pass now and then.
  auto const bytes = shared_bytes(tuning, kMostPartitionBits, wanted_tile(tuning, false), false);
  return bytes <= tuning.shared_bytes ? kMostPartitionBits : kStableBits;
}

ScatterTile scatter_tile(ComputeTuning const& tuning, std::uint32_t bits, bool stable, bool wide) noexcept {
  if (!stable && !tuning.tile) return tile_in_any_order(tuning, wide);
  auto tile = tuning.tile ? *tuning.tile : tile_in_stable_order(tuning, bits);
  if (!stable) tile.mask_bits = 0;
  while (tile.group_size > tuning.subgroup_size && shared_bytes(tuning, bits, tile, stable) > tuning.shared_bytes)
    tile.group_size = tile.group_size / 2 / tuning.subgroup_size * tuning.subgroup_size;
  return tile;
}

std::uint32_t scatter_scratch_words(ComputeTuning const& tuning, std::uint32_t bits, bool stable, bool wide) noexcept {
  return scratch_words(tuning, bits, scatter_tile(tuning, bits, stable, wide), stable);
}

std::uint64_t scatter_shared_bytes(ComputeTuning const& tuning, std::uint32_t bits, bool stable, bool wide) noexcept {
  return shared_bytes(tuning, bits, scatter_tile(tuning, bits, stable, wide), stable);
}

vk::ComputePipelineSpec compute_pipeline(PassShape const& shape, ComputeTuning const& tuning) {
  auto const group = shape.group_size != 0 ? shape.group_size : tuning.group_size;
  GARUDA_EXPECTS(group % tuning.subgroup_size == 0);
  vk::ComputePipelineSpec spec;
  spec.compute = shaders::get(shape.entry);
  spec.constants = {{shaders::kSpecLocalSize, group},
                    {shaders::kSpecGroup, group},
                    {shaders::kSpecSubgroup, tuning.subgroup_size},
                    {shaders::kSpecItems, shape.items}};
  spec.constants.insert(spec.constants.end(), shape.constants.begin(), shape.constants.end());
  spec.push_bytes = shape.push_bytes;
  spec.required_subgroup_size = tuning.require_subgroup_size ? tuning.subgroup_size : 0;
  spec.full_subgroups = tuning.full_subgroups;
  return spec;
}

Result<vk::Buffer> ComputeContext::device_buffer(std::uint64_t bytes, char const* name, vk::MemoryUse use) {
  if (bytes > bytes_left()) {
    return fail(ErrorCode::limit_exceeded,
                fmt::format("no room in a lane's share of device memory for {} of {} bytes: {} bytes left", name, bytes,
                            bytes_left()));
  }
  vk::BufferSpec spec;
  spec.bytes = std::max<std::uint64_t>((bytes + 15) / 16 * 16, 16);
  spec.use = use;
  spec.extra_usage = VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT;
  spec.name = name;
  return lane().arena().buffer(spec);
}

Result<void> ComputeContext::order_all(char const* phase, std::uint64_t items) {
  GARUDA_TRY_ASSIGN(auto* recorder, submissions().record(phase, items / vulkan::kItemsPerPoint));
  recorder->barrier(kWorked, kWorkAhead);
  return {};
}

Result<void> ComputeContext::fill(char const* phase, vk::Buffer const& buffer, std::uint32_t word, bool independent) {
  if (!independent) GARUDA_TRY(order_all(phase));
  GARUDA_TRY_ASSIGN(auto* recorder, submissions().record(phase));
  auto view = buffer.view();
  view.bytes = view.bytes / 4 * 4;
  recorder->fill(view, word);
  return {};
}

Result<void> ComputeContext::update(char const* phase, vk::Buffer const& buffer, std::span<std::byte const> bytes,
                                    bool independent) {
  if (!independent) GARUDA_TRY(order_all(phase));
  GARUDA_TRY_ASSIGN(auto* recorder, submissions().record(phase));
  recorder->update(buffer.view(0, bytes.size()), bytes);
  return {};
}

Result<vk::Pipeline const*> ComputeContext::compile(PassShape const& shape) {
  auto const compiled = pipelines_.size();
  Stopwatch const compiling;
  GARUDA_TRY_ASSIGN(auto const* pipeline, pipelines_.compile(compute_pipeline(shape, tuning_)));
  if (pipelines_.size() != compiled) submissions().count_time("pipelines", compiling.elapsed_ns());
  return pipeline;
}

template <class Command>
Result<void> ComputeContext::record_pass(char const* phase, std::string_view label, vk::Pipeline const& pipeline,
                                         std::span<std::byte const> push, std::uint64_t items, bool independent,
                                         Command const& command) {
  if (!independent) GARUDA_TRY(order_all(phase));
  GARUDA_TRY_ASSIGN(auto* recorder, submissions().record(phase, items / vulkan::kItemsPerPoint));
  GARUDA_TRY(recorder->bind(pipeline, {}, push));
  recorder->begin_label(std::string(label).c_str());
  command(*recorder);
  recorder->end_label();
  return {};
}

Result<void> ComputeContext::dispatch_bytes(char const* phase, PassShape const& shape, std::span<std::byte const> push,
                                            std::uint64_t groups, std::uint64_t items, bool independent) {
  if (groups == 0) return {};
  GARUDA_TRY_ASSIGN(auto const* pipeline, compile(shape));
  GARUDA_EXPECTS(!pipeline->strides());
  auto const parts = parts_of(phase, items, groups);
  for (std::uint32_t part = 0; part < parts; ++part)
    GARUDA_TRY(record_pass(phase, shape.entry, *pipeline, push, items / parts, independent || part > 0,
                           [&](vk::CommandRecorder& recorder) { recorder.dispatch_part(groups, part, parts); }));
  return {};
}

Result<void> ComputeContext::dispatch_striding_bytes(char const* phase, PassShape const& shape,
                                                     std::span<std::byte const> push, std::uint64_t groups,
                                                     std::uint64_t items, bool independent) {
  GARUDA_TRY_ASSIGN(auto const* pipeline, compile(shape));
  return record_pass(phase, shape.entry, *pipeline, push, items, independent,
                     [&](vk::CommandRecorder& recorder) { recorder.dispatch_part(groups, 0, 1); });
}

Result<void> ComputeContext::dispatch_indirect_bytes(char const* phase, PassShape const& shape,
                                                     std::span<std::byte const> push, vk::Buffer const& counts,
                                                     std::uint64_t offset, std::uint64_t items) {
  GARUDA_TRY_ASSIGN(auto const* pipeline, compile(shape));
  return record_pass(phase, shape.entry, *pipeline, push, items, false,
                     [&](vk::CommandRecorder& recorder) { recorder.dispatch_indirect(counts, offset); });
}

std::uint32_t ComputeContext::parts_of(char const* phase, std::uint64_t items, std::uint64_t most) {
  return submissions().parts_of(phase, items / vulkan::kItemsPerPoint, most);
}

Result<std::unique_ptr<ComputeLane>> ComputeLane::open(vulkan::VulkanDevice const& opened, Control const& control,
                                                       contract::StatsSink* stats, std::uint64_t memory_limit_bytes) {
  auto& device = *opened.device;
  GARUDA_TRY_ASSIGN(auto const tuning, compute_tuning(device.traits()));
  vk::LaneOptions options;
  options.name = "compute lane";
  GARUDA_TRY_ASSIGN(auto lane, vk::Lane::create(device, options));
  auto const available = device.memory().available_bytes();
  auto const budget = memory_limit_bytes == 0 ? available : std::min(memory_limit_bytes, available);
  return std::unique_ptr<ComputeLane>(
      new ComputeLane(std::move(lane), *opened.pipelines, tuning, control, stats, budget));
}

ComputeLane::ComputeLane(std::unique_ptr<vk::Lane> lane, vk::PipelineStore& pipelines, ComputeTuning const& tuning,
                         Control const& control, contract::StatsSink* stats, std::uint64_t memory_budget_bytes)
    : tuning_(tuning),
      lane_(std::move(lane)),
      submissions_(*lane_, &control, stats),
      context_(*lane_, pipelines, submissions_, tuning_, memory_budget_bytes) {}

}  // namespace garuda::compute
