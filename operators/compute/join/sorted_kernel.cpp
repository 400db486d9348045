#include "operators/compute/join/sorted_kernel.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "operators/compute/primitives/device_scan.hpp"
#include "shaders/compute/sorted_join_layout.h"

namespace garuda::compute {
namespace {

struct PassRow {
  std::string_view entry;
  std::uint32_t push_bytes;
};
constexpr PassRow kPairs{"compute/sorted_pairs.comp", sizeof(shaders::SortedPairsPush)};
constexpr PassRow kMarkProbe{"compute/sorted_marks.comp:PROBE", sizeof(shaders::SortedMarksPush)};
constexpr PassRow kMarkHeads{"compute/sorted_marks.comp:HEADS", sizeof(shaders::SortedMarksPush)};
constexpr PassRow kMarkRuns{"compute/sorted_marks.comp:RUNS", sizeof(shaders::SortedMarksPush)};

PassShape shape_of(PassRow const& row, std::uint32_t key_words) {
  return {row.entry, 0, 1, row.push_bytes, {{shaders::kSpecWords, key_words}}};
}

KeyBounds bounds_of(contract::KeySpan const& keys) { return {keys.min, keys.max}; }

}  // namespace

Result<std::unique_ptr<contract::JoinKernel>> SortedKernel::start(ComputeResources const& resources,
                                                                  contract::JoinSlice const& slice, JoinMethod method) {
  GARUDA_EXPECTS(method == JoinMethod::sorted || method == JoinMethod::global);
  std::unique_ptr<SortedKernel> kernel(new SortedKernel(resources, slice, method));
  if (!kernel->is_empty()) GARUDA_TRY(kernel->start_sorting());
  return std::unique_ptr<contract::JoinKernel>(std::move(kernel));
}

Result<void> SortedKernel::start_sorting() {
  GARUDA_TRY_ASSIGN(auto build_rows, upload(build_side()));
  GARUDA_TRY_ASSIGN(build_, IndexedSide::create(context(), std::move(build_rows), bounds_of(keys_of(build_side()))));
  GARUDA_TRY(build_->record(context()));
  GARUDA_TRY(submissions().submit());
  GARUDA_TRY_ASSIGN(probe_rows_, upload(probe_side()));
  probe_keys_ = probe_rows_.keys.address;
  if (method_ == JoinMethod::sorted) {
    auto const bounds = bounds_of(keys_of(probe_side()));
    GARUDA_TRY_ASSIGN(probe_, SortedSide::create(context(), probe_rows_, bounds.differing_bits()));
    GARUDA_TRY(probe_->record(context()));
    probe_keys_ = probe_->keys().address();
  }
  return submissions().submit();
}

Result<std::uint64_t> SortedKernel::count_pairs() {
  auto const rows = probe_rows_.rows;
  GARUDA_TRY_ASSIGN(runs_, MatchRuns::create(context(), rows));
  GARUDA_TRY_ASSIGN(offsets_, context().device_buffer(rows * 8, "first pairs of probe rows"));
  GARUDA_TRY(build_->record_matches(context(), vulkan::phase::kCount, probe_keys_, rows, runs_));
  GARUDA_TRY_ASSIGN(auto scan, DeviceScan::create(context(), rows));
  GARUDA_TRY(
      scan.record(context(), vulkan::phase::kPrefix, {runs_.counts.address(), offsets_.address(), rows, 0, true}));
  return scan.read_total(context(), vulkan::phase::kPrefix);
}

Result<void> SortedKernel::record_pairs(std::uint64_t first, std::uint64_t rows, vk::Buffer const& window) {
  shaders::SortedPairsPush push{};
  push.offsets = offsets_.address();
  push.firsts = runs_.firsts.address();
  push.build_rows = build_->sorted().numbers().address();
  push.probe_rows = probe_numbers();
  push.pairs = window.address();
  push.num_probe = static_cast<std::uint32_t>(probe_rows_.rows);
  push.first_low = static_cast<std::uint32_t>(first);
  push.first_high = static_cast<std::uint32_t>(first >> 32);
  push.num_pairs = static_cast<std::uint32_t>(rows);
  push.build_is_left = build_side() == Side::left ? 1 : 0;
  auto const groups = groups_for(rows, context().tuning().group_size);
  return context().dispatch(vulkan::phase::kProbe, shape_of(kPairs, build_->key_words()), push, groups, 4 * rows);
}

Result<void> SortedKernel::record_marks(Side side, vk::Buffer const& marks) {
  bool const of_build = side == build_side();
  auto const group = context().tuning().group_size;
  auto const probe_rows = probe_rows_.rows;
  shaders::SortedMarksPush push{};
  push.build_keys = build_->sorted().keys().address();
  push.firsts = runs_.firsts.address();
  push.counts = runs_.counts.address();
  push.marks = marks.address();
  push.num_rows = static_cast<std::uint32_t>(probe_rows);
  if (!of_build) {
    push.rows = probe_numbers();
    return context().dispatch(vulkan::phase::kMark, shape_of(kMarkProbe, build_->key_words()), push,
                              groups_for(probe_rows, group), probe_rows);
  }
  GARUDA_TRY_ASSIGN(auto const heads, context().device_buffer((build_->rows() + 31) / 32 * 4, "first rows of keys"));
  GARUDA_TRY(context().fill(vulkan::phase::kMark, heads, 0));
  push.heads = heads.address();
  GARUDA_TRY(context().dispatch(vulkan::phase::kMark, shape_of(kMarkHeads, build_->key_words()), push,
                                groups_for(probe_rows, group), probe_rows));
  push.rows = build_->sorted().numbers().address();
  push.num_rows = static_cast<std::uint32_t>(build_->rows());
  return context().dispatch(vulkan::phase::kMark, shape_of(kMarkRuns, build_->key_words()), push,
                            groups_for(build_->rows(), group), build_->rows());
}

std::uint64_t sorted_join_bytes(std::uint64_t left_rows, std::uint64_t right_rows, std::uint32_t key_bits,
                                JoinMethod method, ComputeTuning const& tuning) noexcept {
  auto const build = std::min(left_rows, right_rows);
  auto const probe = std::max(left_rows, right_rows);
  auto const key_bytes = std::uint64_t{key_bits} / 8;
  auto stable = tuning;
  stable.stable_join = true;
  auto const sorted = [&](std::uint64_t rows) {
    auto const passes = groups_for(key_bits, tuning.stable_bits);
    return rows * 2 * (key_bytes + 4) + passes * RadixPass::scratch_bytes(rows, 1, tuning.stable_bits, stable);
  };
  // Keys as they came; index, matches and sums; the sides in order.
  return (build + probe) * key_bytes + build * 16 + probe * 16 + sorted(build) +
         (method == JoinMethod::sorted ? sorted(probe) : 0);
}

std::vector<vk::ComputePipelineSpec> sorted_join_pipelines(ComputeTuning const& tuning) {
  std::vector<vk::ComputePipelineSpec> specs;
  for (auto const& row : {kPairs, kMarkProbe, kMarkHeads, kMarkRuns})
    for (std::uint32_t const key_words : {1U, 2U}) specs.push_back(compute_pipeline(shape_of(row, key_words), tuning));
  auto const of_index = indexed_side_pipelines(tuning);
  specs.insert(specs.end(), of_index.begin(), of_index.end());
  return specs;
}

}  // namespace garuda::compute
