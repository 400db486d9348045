#include "operators/compute/primitives/device_primitives.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "shaders/primitives/primitives_layout.h"

namespace garuda::compute {
namespace {

// Clearing the states that several workgroups need costs more than summing so few tiles one after another.
constexpr std::uint64_t kMostTilesOfOneGroup = 4;

std::uint64_t tile_elements(ComputeTuning const& tuning) { return std::uint64_t{tuning.group_size} * kScanItems; }

PassShape scan_shape(std::string_view entry, ComputeTuning const& tuning, bool lists) {
  return {entry, tuning.group_size, kScanItems, sizeof(shaders::PrefixPush), {{shaders::kSpecLists, lists ? 1U : 0U}}};
}

constexpr std::string_view kLookBack = "primitives/scan.comp:LOOK_BACK";
constexpr std::string_view kOneGroup = "primitives/scan.comp:ONE_GROUP";

constexpr std::uint32_t kReduceItems = 16;
// 16-bit halves of a workgroup's elements add up to less than 2^32.
constexpr std::uint64_t kReduceElements = 65'536;
constexpr std::uint32_t kGatherItems = 8;
constexpr std::uint32_t kCopyItems = 4;
constexpr std::uint32_t kSegmentItems = 16;

PassShape reduce_shape(Reduction reduction, std::uint32_t words, bool low_words) {
  return {low_words ? "primitives/reduce.comp:PHASE_LOW" : "primitives/reduce.comp",
          0,
          kReduceItems,
          sizeof(shaders::ReductionPush),
          {{shaders::kSpecWords, words}, {shaders::kSpecOperation, static_cast<std::uint32_t>(reduction)}}};
}

PassShape segments_shape() {
  return {"primitives/segment_sums.comp", 0, kSegmentItems, sizeof(shaders::SegmentsPush), {}};
}

PassShape gather_shape(std::uint32_t words) {
  return {"primitives/gather.comp", 0, kGatherItems, sizeof(shaders::GatherPush), {{shaders::kSpecWords, words}}};
}

PassShape count_bins_shape(CountBinsShape const& shape) {
  return {"primitives/count_bins.comp", shape.group_size, shape.items, sizeof(shaders::CountBinsPush), {}};
}

PassShape copy_shape() { return {"primitives/copy.comp", 0, kCopyItems, sizeof(shaders::CopyPush), {}}; }

static_assert(static_cast<std::uint32_t>(Reduction::add) == shaders::kReduceAdd);
static_assert(static_cast<std::uint32_t>(Reduction::min) == shaders::kReduceMin);
static_assert(static_cast<std::uint32_t>(Reduction::max) == shaders::kReduceMax);

PassShape chunk_shape(std::string_view entry) { return {entry, 0, 1, sizeof(shaders::ChunkTablePush), {}}; }

constexpr std::string_view kFirstChunks = "primitives/first_chunks.comp";
constexpr std::string_view kChunkTable = "primitives/chunk_table.comp";

}  // namespace

Result<DeviceScan> DeviceScan::create(ComputeContext& context, std::uint64_t elements) {
  GARUDA_EXPECTS(elements <= kMaxScanElements);
  DeviceScan scan;
  scan.elements_ = elements;
  auto const tiles = groups_for(elements, tile_elements(context.tuning()));
  GARUDA_TRY_ASSIGN(scan.states_, context.device_buffer((tiles + 1) * 8, "states of tiles"));
  GARUDA_TRY_ASSIGN(scan.total_, context.device_buffer(8, "total"));
  return scan;
}

bool DeviceScan::is_one_pass(ComputeTuning const& tuning, std::uint64_t elements) noexcept {
  return groups_for(elements, tile_elements(tuning)) <= kMostTilesOfOneGroup;
}

std::uint32_t DeviceScan::num_state_words(ComputeTuning const& tuning, std::uint64_t elements) noexcept {
  if (is_one_pass(tuning, elements)) return 0;
  return static_cast<std::uint32_t>((groups_for(elements, tile_elements(tuning)) + 1) * 2);
}

Result<void> DeviceScan::record(ComputeContext& context, char const* phase, ScannedWords const& words,
                                bool independent) {
  auto const elements = words.elements;
  GARUDA_EXPECTS(elements > 0 && elements <= elements_ && !(words.lists && words.copy != 0));
  GARUDA_EXPECTS(words.source % 16 == 0 && words.target % 16 == 0 && words.copy % 16 == 0);
  GARUDA_EXPECTS(words.source != words.target && words.source != words.copy);
  auto const& tuning = context.tuning();
  auto const tiles = groups_for(elements, tile_elements(tuning));
  shaders::PrefixPush push{};
  push.source = words.source;
  push.target = words.target;
  push.states = states_.address();
  push.total = total_.address();
  push.copy = words.copy;
  push.num_elements = static_cast<std::uint32_t>(elements);
  push.num_tiles = static_cast<std::uint32_t>(tiles);
  push.spins = tuning.scan_spins;
  if (is_one_pass(tuning, elements))
    return context.dispatch(phase, scan_shape(kOneGroup, tuning, words.lists), push, 1, elements, independent);
  if (!words.cleared) {
    GARUDA_TRY(context.fill(phase, states_, 0));
    independent = false;
  }
  return context.dispatch(phase, scan_shape(kLookBack, tuning, words.lists), push, tiles, elements, independent);
}

Result<std::uint64_t> DeviceScan::read_total(ComputeContext& context, char const* phase) {
  return context.read_value<std::uint64_t>(phase, total_);
}

Result<void> record_reduce(ComputeContext& context, char const* phase, Reduction reduction, VkDeviceAddress source,
                           std::uint64_t elements, std::uint32_t words, vk::Buffer const& result) {
  GARUDA_EXPECTS(result.bytes() >= 8 && (words == 1 || (words == 2 && reduction != Reduction::add)));
  auto const neutral = reduction == Reduction::min ? ~std::uint32_t{0} : 0;
  std::array const start{neutral, words == 2 ? neutral : 0U};
  GARUDA_TRY(context.update(phase, result, std::as_bytes(std::span(start))));
  auto const tile = std::uint64_t{context.tuning().group_size} * kReduceItems;
  shaders::ReductionPush push{};
  push.source = source;
  push.result = result.address();
  push.num_elements = static_cast<std::uint32_t>(elements);
  push.tiles_each = static_cast<std::uint32_t>(std::max<std::uint64_t>(kReduceElements / tile, 1));
  auto const groups = groups_for(elements, tile * push.tiles_each);
  GARUDA_TRY(context.dispatch(phase, reduce_shape(reduction, words, false), push, groups, elements));
  if (words == 1) return {};
  return context.dispatch(phase, reduce_shape(reduction, words, true), push, groups, elements);
}

Result<void> record_segment_sums(ComputeContext& context, char const* phase, VkDeviceAddress values,
                                 VkDeviceAddress starts, std::uint64_t elements, std::uint32_t segments,
                                 vk::Buffer const& results) {
  GARUDA_TRY(context.fill(phase, results, 0));
  shaders::SegmentsPush push{};
  push.values = values;
  push.starts = starts;
  push.results = results.address();
  push.num_elements = static_cast<std::uint32_t>(elements);
  push.num_segments = segments;
  auto const tile = std::uint64_t{context.tuning().group_size} * kSegmentItems;
  return context.dispatch(phase, segments_shape(), push, groups_for(elements, tile), elements);
}

Result<void> record_gather(ComputeContext& context, char const* phase, VkDeviceAddress source, VkDeviceAddress rows,
                           VkDeviceAddress target, std::uint64_t elements, std::uint32_t words) {
  GARUDA_EXPECTS(words > 0);
  shaders::GatherPush push{};
  push.source = source;
  push.rows = rows;
  push.target = target;
  push.num_elements = static_cast<std::uint32_t>(elements);
  auto const tile = std::uint64_t{context.tuning().group_size} * kGatherItems;
  return context.dispatch(phase, gather_shape(words), push, groups_for(elements, tile), elements);
}

Result<void> record_compact(ComputeContext& context, char const* phase, DeviceScan& scan, VkDeviceAddress flags,
                            VkDeviceAddress target, std::uint64_t elements) {
  ScannedWords words{flags, target, elements};
  words.lists = true;
  return scan.record(context, phase, words);
}

Result<void> record_copy(ComputeContext& context, char const* phase, VkDeviceAddress source, VkDeviceAddress target,
                         std::uint64_t bytes) {
  GARUDA_EXPECTS(bytes % 16 == 0 && source % 16 == 0 && target % 16 == 0);
  shaders::CopyPush push{};
  push.source = source;
  push.target = target;
  push.num_quads = static_cast<std::uint32_t>(bytes / 16);
  auto const tile = std::uint64_t{context.tuning().group_size} * kCopyItems;
  return context.dispatch(phase, copy_shape(), push, groups_for(push.num_quads, tile), bytes / 4);
}

Result<void> record_count_bins(ComputeContext& context, char const* phase, VkDeviceAddress values,
                               std::uint64_t elements, VkDeviceAddress counts, std::uint64_t bins,
                               CountBinsShape const& shape) {
  GARUDA_EXPECTS(std::has_single_bit(bins) && bins <= std::uint64_t{1} << 32);
  shaders::CountBinsPush push{};
  push.values = values;
  push.counts = counts;
  push.num_elements = static_cast<std::uint32_t>(elements);
  push.mask = static_cast<std::uint32_t>(bins - 1);
  auto const tile = std::uint64_t{shape.group_size} * shape.items;
  return context.dispatch(phase, count_bins_shape(shape), push, groups_for(elements, tile), elements);
}

Result<ChunkTable> ChunkTable::create(ComputeContext& context, std::uint64_t rows, std::uint32_t segments,
                                      std::uint32_t chunk_rows, std::uint32_t bins, bool shared_counts) {
  GARUDA_EXPECTS(segments > 0 && chunk_rows > 0);
  ChunkTable table;
  table.segments_ = segments;
  table.chunk_rows_ = chunk_rows;
  table.bins_ = bins;
  table.shared_counts_ = shared_counts;
  table.max_chunks_ = rows / chunk_rows + segments;
  GARUDA_TRY_ASSIGN(table.first_chunk_, context.device_buffer((std::uint64_t{segments} + 1) * 4, "first chunks"));
  GARUDA_TRY_ASSIGN(table.chunks_,
                    context.device_buffer(table.max_chunks_ * sizeof(shaders::PartitionChunk), "chunks"));
  return table;
}

shaders::ChunkTablePush ChunkTable::push_for(VkDeviceAddress starts) const {
  shaders::ChunkTablePush push{};
  push.starts = starts;
  push.first_chunk = first_chunk_.address();
  push.chunks = chunks_.address();
  push.num_segments = segments_;
  push.max_chunks = static_cast<std::uint32_t>(max_chunks_);
  push.chunk_rows = chunk_rows_;
  push.bins = bins_;
  push.shared_counts = shared_counts_ ? 1 : 0;
  return push;
}

Result<void> ChunkTable::record_firsts(ComputeContext& context, char const* phase, VkDeviceAddress starts,
                                       bool independent) {
  return context.dispatch(phase, chunk_shape(kFirstChunks), push_for(starts), 1, segments_, independent);
}

Result<void> ChunkTable::record_chunks(ComputeContext& context, char const* phase, VkDeviceAddress starts,
                                       bool independent) {
  return context.dispatch_each(phase, chunk_shape(kChunkTable), push_for(starts), max_chunks_, independent);
}

std::vector<vk::ComputePipelineSpec> primitive_pipelines(ComputeTuning const& tuning) {
  std::vector<PassShape> shapes{segments_shape(),          copy_shape(),
                                count_bins_shape({}),      reduce_shape(Reduction::add, 1, false),
                                chunk_shape(kFirstChunks), chunk_shape(kChunkTable)};
  for (auto const reduction : {Reduction::min, Reduction::max}) {
    shapes.push_back(reduce_shape(reduction, 1, false));
    shapes.push_back(reduce_shape(reduction, 2, false));
    shapes.push_back(reduce_shape(reduction, 2, true));
  }
  for (std::uint32_t const words : {1U, 2U, 5U}) shapes.push_back(gather_shape(words));
  for (bool const lists : {false, true})
    for (auto const entry : {kLookBack, kOneGroup}) shapes.push_back(scan_shape(entry, tuning, lists));
  std::vector<vk::ComputePipelineSpec> specs;
  for (auto const& shape : shapes) specs.push_back(compute_pipeline(shape, tuning));
  return specs;
}

}  // namespace garuda::compute
