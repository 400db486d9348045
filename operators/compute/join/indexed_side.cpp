#include "operators/compute/join/indexed_side.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>

#include "operators/compute/primitives/device_primitives.hpp"
#include "shaders/compute/sorted_join_layout.h"

namespace garuda::compute {
namespace {

constexpr char const* kIndexPhase = "index";
constexpr std::uint32_t kMostIndexBits = 25;

PassShape index_shape(std::uint32_t key_words) {
  return {"compute/key_index.comp", 0, 1, sizeof(shaders::KeyIndexPush), {{shaders::kSpecWords, key_words}}};
}

PassShape match_shape(std::uint32_t key_words) {
  return {"compute/match_runs.comp", 0, 1, sizeof(shaders::MatchRunsPush), {{shaders::kSpecWords, key_words}}};
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
  side.bounds_ = bounds;
  auto const bits = bounds.differing_bits();
  // An entry a row, and one bit more for keys that begin in the middle of a power of two.
  auto const row_bits = static_cast<std::uint32_t>(std::bit_width(rows.rows)) + 1;
  side.index_bits_ = std::min({bits, row_bits, kMostIndexBits});
  side.shift_ = bits - side.index_bits_;
  auto const entries = (std::uint64_t{1} << side.index_bits_) + 1;
  GARUDA_TRY_ASSIGN(side.index_, context.device_buffer(entries * 4, "index of keys"));
  GARUDA_TRY_ASSIGN(side.sorted_, SortedSide::create(context, std::move(rows), bits));
  return side;
}

Result<void> IndexedSide::record(ComputeContext& context) {
  GARUDA_TRY(sorted_.record(context));
  auto const entries = (std::uint64_t{1} << index_bits_) + 1;
  shaders::KeyIndexPush const push{layout()};
  auto const groups = groups_for(entries, context.tuning().group_size);
  return context.dispatch(kIndexPhase, index_shape(key_words()), push, groups, entries);
}

Result<void> IndexedSide::record_matches(ComputeContext& context, char const* phase, VkDeviceAddress keys,
                                         std::uint64_t rows, MatchRuns const& runs) const {
  shaders::MatchRunsPush push{};
  push.build = layout();
  push.probe_keys = keys;
  push.firsts = runs.firsts.address();
  push.counts = runs.counts.address();
  push.num_probe = static_cast<std::uint32_t>(rows);
  auto const groups = groups_for(rows, context.tuning().group_size);
  return context.dispatch(phase, match_shape(key_words()), push, groups, 4 * rows);
}

shaders::SortedBuild IndexedSide::layout() const {
  shaders::SortedBuild build{};
  build.keys = sorted_.keys().address();
  build.index = index_.address();
  build.num_rows = static_cast<std::uint32_t>(sorted_.rows());
  build.shift = shift_;
  build.index_bits = index_bits_;
  auto const top_shift = shift_ + index_bits_;
  auto const top = top_shift < 64 ? bounds_.min >> top_shift : 0;
  build.top_low = static_cast<std::uint32_t>(top);
  build.top_high = static_cast<std::uint32_t>(top >> 32);
  return build;
}

std::vector<vk::ComputePipelineSpec> indexed_side_pipelines(ComputeTuning const& tuning) {
  std::vector<vk::ComputePipelineSpec> specs;
  for (std::uint32_t const key_words : {1U, 2U})
    for (auto const& shape : {index_shape(key_words), match_shape(key_words)})
      specs.push_back(compute_pipeline(shape, tuning));
  return specs;
}

}  // namespace garuda::compute
