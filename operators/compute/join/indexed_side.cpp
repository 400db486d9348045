#include "operators/compute/join/indexed_side.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>

#include "operators/compute/primitives/device_primitives.hpp"
#include "shaders/compute/join/sorted_join_layout.h"

namespace garuda::compute {
namespace {

constexpr char const* kIndexPhase = "index";
constexpr std::uint32_t kMostIndexBits = 25;

PassShape index_shape(std::uint32_t key_words) {
  return {"compute/join/key_index.comp", 0, 1, sizeof(shaders::KeyIndexPush), {{shaders::kSpecWords, key_words}}};
}

PassShape match_shape(std::uint32_t key_words) {
  return {"compute/join/match_runs.comp", 0, 1, sizeof(shaders::MatchRunsPush), {{shaders::kSpecWords, key_words}}};
}

shaders::SortedBuild layout_of(KeyIndex const& index) {
  shaders::SortedBuild build{};
  build.keys = index.keys;
  build.index = index.entries;
  build.num_rows = static_cast<std::uint32_t>(index.rows);
  build.shift = index.shift;
  build.index_bits = index.bits;
  auto const top_shift = index.shift + index.bits;
  auto const top = top_shift < 64 ? index.bounds.min >> top_shift : 0;
  build.top_low = static_cast<std::uint32_t>(top);
  build.top_high = static_cast<std::uint32_t>(top >> 32);
  return build;
}

}  // namespace

Result<KeyBoundsSearch> KeyBoundsSearch::create(ComputeContext& context) {
  KeyBoundsSearch search;
  GARUDA_TRY_ASSIGN(search.min_, context.device_buffer(sizeof(std::uint64_t), "least key"));
  GARUDA_TRY_ASSIGN(search.max_, context.device_buffer(sizeof(std::uint64_t), "greatest key"));
  return search;
}

Result<KeyBounds> KeyBoundsSearch::find(ComputeContext& context, char const* phase, DeviceColumn keys,
                                        std::uint64_t rows) {
  GARUDA_EXPECTS(rows > 0 && (keys.words == 1 || keys.words == 2));
  GARUDA_TRY(record_reduce(context, phase, Reduction::min, keys.address, rows, keys.words, min_));
  GARUDA_TRY(record_reduce(context, phase, Reduction::max, keys.address, rows, keys.words, max_));
  GARUDA_TRY(context.order_all(phase));
  KeyBounds bounds;
  GARUDA_TRY(context.read_back(phase, min_, 0, std::as_writable_bytes(std::span(&bounds.min, 1))));
  GARUDA_TRY(context.read_back(phase, max_, 0, std::as_writable_bytes(std::span(&bounds.max, 1))));
  return bounds;
}

Result<MatchRuns> MatchRuns::create(ComputeContext& context, std::uint64_t probe_rows) {
  MatchRuns runs;
  GARUDA_TRY_ASSIGN(runs.firsts, context.device_buffer(probe_rows * 4, "first matches"));
  GARUDA_TRY_ASSIGN(runs.counts, context.device_buffer(probe_rows * 4, "matches"));
  return runs;
}

Result<IndexedSide> IndexedSide::create(ComputeContext& context, DeviceRows rows, KeyBounds bounds) {
  IndexedSide side;
  auto& index = side.index_;
  index.rows = rows.rows;
  index.key_words = rows.keys.words;
  index.bounds = bounds;
  auto const bits = bounds.differing_bits();
  // An entry a row, and one bit more for keys that begin in the middle of a power of two.
  auto const row_bits = static_cast<std::uint32_t>(std::bit_width(rows.rows)) + 1;
  index.bits = std::min({bits, row_bits, kMostIndexBits});
  index.shift = bits - index.bits;
  GARUDA_TRY_ASSIGN(side.entries_, context.device_buffer(index.num_entries() * 4, "index of keys"));
  GARUDA_TRY_ASSIGN(side.sorted_, SortedSide::create(context, std::move(rows), bits));
  index.keys = side.sorted_.keys().address();
  index.numbers = side.sorted_.numbers().address();
  index.entries = side.entries_.address();
  return side;
}

Result<void> IndexedSide::record(ComputeContext& context) {
  GARUDA_TRY(sorted_.record(context));
  shaders::KeyIndexPush const push{layout_of(index_)};
  return context.dispatch_each(kIndexPhase, index_shape(index_.key_words), push, index_.num_entries());
}

Result<void> record_look_ups(ComputeContext& context, char const* phase, KeyIndex const& index, VkDeviceAddress keys,
                             std::uint64_t rows, MatchRuns const& runs) {
  shaders::MatchRunsPush push{};
  push.build = layout_of(index);
  push.probe_keys = keys;
  push.firsts = runs.firsts.address();
  push.counts = runs.counts.address();
  push.num_probe = static_cast<std::uint32_t>(rows);
  auto const groups = groups_for(rows, context.tuning().group_size);
  return context.dispatch(phase, match_shape(index.key_words), push, groups, 4 * rows);
}

std::vector<vk::ComputePipelineSpec> indexed_side_pipelines(ComputeTuning const& tuning) {
  std::vector<vk::ComputePipelineSpec> specs;
  for (std::uint32_t const key_words : {1U, 2U})
    for (auto const& shape : {index_shape(key_words), match_shape(key_words)})
      specs.push_back(compute_pipeline(shape, tuning));
  return specs;
}

}  // namespace garuda::compute
