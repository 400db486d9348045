#include "operators/compute/sorted_kernel.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "operators/compute/device_scan.hpp"
#include "shaders/compute/sorted_join_layout.h"

namespace garuda::operators {
namespace {

constexpr char const* kIndexPhase = "index";
constexpr std::uint32_t kMostIndexBits = 25;

struct PassRow {
  std::string_view entry;
  std::uint32_t push_bytes;
};
constexpr PassRow kIndex{"compute/key_index.comp", sizeof(shaders::KeyIndexPush)};
constexpr PassRow kMatch{"compute/match_runs.comp", sizeof(shaders::MatchRunsPush)};
constexpr PassRow kPairs{"compute/sorted_pairs.comp", sizeof(shaders::SortedPairsPush)};
constexpr PassRow kMarkProbe{"compute/sorted_marks.comp:PROBE", sizeof(shaders::SortedMarksPush)};
constexpr PassRow kMarkHeads{"compute/sorted_marks.comp:HEADS", sizeof(shaders::SortedMarksPush)};
constexpr PassRow kMarkRuns{"compute/sorted_marks.comp:RUNS", sizeof(shaders::SortedMarksPush)};

PassShape shape_of(PassRow const& row, std::uint32_t key_words) {
  return {row.entry, 0, 1, row.push_bytes, {{shaders::kSpecWords, key_words}}};
}

/// The lowest bits that hold all differences between keys from `min` to `max`.
std::uint32_t differing_bits(std::uint64_t min, std::uint64_t max) {
  return static_cast<std::uint32_t>(std::bit_width(min ^ max));
}

}  // namespace

Result<std::unique_ptr<JoinKernel>> SortedKernel::start(ComputeResources const& resources, JoinSlice const& slice,
                                                        JoinMethod method) {
  GARUDA_EXPECTS(method == JoinMethod::sorted || method == JoinMethod::global);
  std::unique_ptr<SortedKernel> kernel(new SortedKernel(resources, slice, method));
  if (!kernel->is_empty()) GARUDA_TRY(kernel->start_sorting());
  return std::unique_ptr<JoinKernel>(std::move(kernel));
}

Result<void> SortedKernel::start_sorting() {
  auto const& build_keys = keys_of(build_side());
  auto const bits = differing_bits(build_keys.min, build_keys.max);
  // An entry a row, and one bit more for keys that begin in the middle of a power of two.
  auto const row_bits = static_cast<std::uint32_t>(std::bit_width(build_keys.size())) + 1;
  index_bits_ = std::min({bits, row_bits, kMostIndexBits});
  shift_ = bits - index_bits_;
  GARUDA_TRY_ASSIGN(auto build_rows, upload(build_side()));
  GARUDA_TRY_ASSIGN(build_, SortedSide::create(context(), std::move(build_rows), bits));
  GARUDA_TRY(build_->record(context()));
  GARUDA_TRY(record_index());
  GARUDA_TRY(submissions().submit());
  GARUDA_TRY_ASSIGN(probe_rows_, upload(probe_side()));
  probe_keys_ = probe_rows_.keys.address;
  if (method_ == JoinMethod::sorted) {
    auto const& probe_keys = keys_of(probe_side());
    GARUDA_TRY_ASSIGN(probe_,
                      SortedSide::create(context(), probe_rows_, differing_bits(probe_keys.min, probe_keys.max)));
    GARUDA_TRY(probe_->record(context()));
    probe_keys_ = probe_->keys().address();
  }
  return submissions().submit();
}

shaders::SortedBuild SortedKernel::indexed_build() const {
  shaders::SortedBuild build{};
  build.keys = build_->keys().address();
  build.index = index_.address();
  build.num_rows = static_cast<std::uint32_t>(build_->rows());
  build.shift = shift_;
  build.index_bits = index_bits_;
  auto const top_shift = shift_ + index_bits_;
  auto const top = top_shift < 64 ? keys_of(build_side()).min >> top_shift : 0;
  build.top_low = static_cast<std::uint32_t>(top);
  build.top_high = static_cast<std::uint32_t>(top >> 32);
  return build;
}

Result<void> SortedKernel::record_index() {
  auto const entries = (std::uint64_t{1} << index_bits_) + 1;
  GARUDA_TRY_ASSIGN(index_, context().device_buffer(entries * 4, "index of keys"));
  shaders::KeyIndexPush const push{indexed_build()};
  auto const groups = groups_for(entries, context().tuning().group_size);
  return context().dispatch(kIndexPhase, shape_of(kIndex, build_->key_words()), push, groups, entries);
}

Result<std::uint64_t> SortedKernel::count_pairs() {
  auto const rows = probe_rows_.rows;
  GARUDA_TRY_ASSIGN(firsts_, context().device_buffer(rows * 4, "first matches"));
  GARUDA_TRY_ASSIGN(counts_, context().device_buffer(rows * 4, "matches"));
  GARUDA_TRY_ASSIGN(offsets_, context().device_buffer(rows * 8, "first pairs of probe rows"));
  shaders::MatchRunsPush push{};
  push.build = indexed_build();
  push.probe_keys = probe_keys_;
  push.firsts = firsts_.address();
  push.counts = counts_.address();
  push.num_probe = static_cast<std::uint32_t>(rows);
  auto const groups = groups_for(rows, context().tuning().group_size);
  GARUDA_TRY(context().dispatch(phase::kCount, shape_of(kMatch, build_->key_words()), push, groups, 4 * rows));
  GARUDA_TRY_ASSIGN(auto scan, DeviceScan::create(context(), rows));
  GARUDA_TRY(scan.record(context(), phase::kPrefix, counts_.address(), offsets_.address(), rows, true));
  return scan.read_total(context(), phase::kPrefix);
}

Result<void> SortedKernel::record_pairs(std::uint64_t first, std::uint64_t rows, vk::Buffer const& window) {
  shaders::SortedPairsPush push{};
  push.offsets = offsets_.address();
  push.firsts = firsts_.address();
  push.build_rows = build_->numbers().address();
  push.probe_rows = probe_numbers();
  push.pairs = window.address();
  push.num_probe = static_cast<std::uint32_t>(probe_rows_.rows);
  push.first_low = static_cast<std::uint32_t>(first);
  push.first_high = static_cast<std::uint32_t>(first >> 32);
  push.num_pairs = static_cast<std::uint32_t>(rows);
  push.build_is_left = build_side() == Side::left ? 1 : 0;
  auto const groups = groups_for(rows, context().tuning().group_size);
  return context().dispatch(phase::kProbe, shape_of(kPairs, build_->key_words()), push, groups, 4 * rows);
}

Result<void> SortedKernel::record_marks(Side side, vk::Buffer const& marks) {
  bool const of_build = side == build_side();
  auto const group = context().tuning().group_size;
  auto const probe_rows = probe_rows_.rows;
  shaders::SortedMarksPush push{};
  push.build_keys = build_->keys().address();
  push.firsts = firsts_.address();
  push.counts = counts_.address();
  push.marks = marks.address();
  push.num_rows = static_cast<std::uint32_t>(probe_rows);
  if (!of_build) {
    push.rows = probe_numbers();
    return context().dispatch(phase::kMark, shape_of(kMarkProbe, build_->key_words()), push,
                              groups_for(probe_rows, group), probe_rows);
  }
  GARUDA_TRY_ASSIGN(auto const heads, context().device_buffer((build_->rows() + 31) / 32 * 4, "first rows of keys"));
  GARUDA_TRY(context().fill(phase::kMark, heads, 0));
  push.heads = heads.address();
  GARUDA_TRY(context().dispatch(phase::kMark, shape_of(kMarkHeads, build_->key_words()), push,
                                groups_for(probe_rows, group), probe_rows));
  push.rows = build_->numbers().address();
  push.num_rows = static_cast<std::uint32_t>(build_->rows());
  return context().dispatch(phase::kMark, shape_of(kMarkRuns, build_->key_words()), push,
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
    auto const passes = groups_for(key_bits, tuning.partition_bits);
    return rows * 2 * (key_bytes + 4) + passes * RadixPass::scratch_bytes(rows, 1, tuning.partition_bits, stable);
  };
  // Keys as they came; index, matches and sums; the sides in order.
  return (build + probe) * key_bytes + build * 16 + probe * 16 + sorted(build) +
         (method == JoinMethod::sorted ? sorted(probe) : 0);
}

std::vector<vk::ComputePipelineSpec> sorted_join_pipelines(ComputeTuning const& tuning) {
  std::vector<vk::ComputePipelineSpec> specs;
  for (auto const& row : {kIndex, kMatch, kPairs, kMarkProbe, kMarkHeads, kMarkRuns})
    for (std::uint32_t const key_words : {1U, 2U}) specs.push_back(compute_pipeline(shape_of(row, key_words), tuning));
  return specs;
}

}  // namespace garuda::operators
