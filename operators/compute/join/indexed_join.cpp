#include "operators/compute/join/indexed_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "operators/compute/primitives/device_primitives.hpp"
#include "shaders/compute/join/partitioned_join_layout.h"
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

constexpr char const* kEstimatePhase = "estimate";
constexpr std::uint64_t kSampleRows = 4096;
/// Build rows that are looked up at once: scratch memory stays small.
constexpr std::uint64_t kWindowRows = std::uint64_t{1} << 23;

/// One row out of each of as many even pieces of the side; the same rows in every run.
std::vector<std::uint32_t> sample_of(std::uint64_t rows) {
  auto const count = std::min(rows, kSampleRows);
  std::minstd_rand random(1);
  std::vector<std::uint32_t> sample;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto const begin = i * rows / count;
    auto const piece = (i + 1) * rows / count - begin;
    sample.push_back(static_cast<std::uint32_t>(begin + random() % piece));
  }
  return sample;
}

Result<IndexedSide> index_sample(ComputeContext& context, DeviceColumn keys, std::span<std::uint32_t const> sample) {
  GARUDA_TRY_ASSIGN(auto const rows, context.device_buffer(sample.size_bytes(), "sampled rows", context.upload_use()));
  GARUDA_TRY(context.upload(rows, 0, std::as_bytes(sample)));
  GARUDA_TRY_ASSIGN(auto const sampled, context.device_buffer(sample.size() * keys.words * 4, "sampled keys"));
  GARUDA_TRY(record_gather(context, kEstimatePhase, keys.address, rows.address(), sampled.address(), sample.size(),
                           keys.words));
  GARUDA_TRY_ASSIGN(auto search, KeyBoundsSearch::create(context));
  DeviceColumn const column{sampled.address(), keys.words};
  GARUDA_TRY_ASSIGN(auto const bounds, search.find(context, kEstimatePhase, column, sample.size()));
  GARUDA_TRY_ASSIGN(auto side, IndexedSide::create(context, {sample.size(), column, {}, true}, bounds));
  GARUDA_TRY(side.record(context));
  // The sample is not read any more when it goes.
  GARUDA_TRY(context.submissions().finish());
  return side;
}

constexpr char const* kBoundsPhase = "bounds";
constexpr char const* kMatchPhase = "match";
constexpr char const* kSumPhase = "sum matches";
constexpr char const* kExpandPhase = "expand";
constexpr std::uint32_t kExpandItems = 4;

/// The side with nothing but numbered keys, as it is sorted.
DeviceRows keys_of(DeviceRows const& rows) { return {rows.rows, rows.keys, {}, true}; }

void add_columns(DeviceRows const& rows, std::vector<VkDeviceAddress> const& targets, std::uint32_t from,
                 std::vector<shaders::JoinedColumn>& columns) {
  std::size_t const numbers = rows.number_rows ? 1 : 0;
  GARUDA_EXPECTS(numbers + rows.payload.size() == targets.size());
  if (rows.number_rows) columns.push_back({0, targets[0], 0, from});
  for (std::size_t i = 0; i < rows.payload.size(); ++i)
    columns.push_back({rows.payload[i].address, targets[numbers + i], rows.payload[i].words, from});
}

/// `words_out`: of a key that is written, 0 where none is.
PassShape expand_shape(std::uint32_t words_out) {
  return {"compute/join/expand_rows.comp",
          0,
          kExpandItems,
          sizeof(shaders::ExpandRowsPush),
          {{shaders::kSpecKeysOut, words_out}}};
}

constexpr std::string_view kMarkProbe = "compute/join/sorted_marks.comp:PROBE";
constexpr std::string_view kMarkHeads = "compute/join/sorted_marks.comp:HEADS";
constexpr std::string_view kMarkRuns = "compute/join/sorted_marks.comp:RUNS";

PassShape mark_shape(std::string_view entry, std::uint32_t key_words) {
  return {entry, 0, 1, sizeof(shaders::SortedMarksPush), {{shaders::kSpecWords, key_words}}};
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
  KeyBounds bounds;
  GARUDA_TRY_ASSIGN(bounds.min, context.read_value<std::uint64_t>(phase, min_));
  GARUDA_TRY_ASSIGN(bounds.max, context.read_value<std::uint64_t>(phase, max_));
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

Result<double> estimate_matches(ComputeContext& context, DeviceRows const& build, DeviceRows const& probe) {
  GARUDA_EXPECTS(build.keys.words == probe.keys.words);
  if (build.rows == 0 || probe.rows == 0) return 0.0;
  auto const sample = sample_of(probe.rows);
  GARUDA_TRY_ASSIGN(auto const side, index_sample(context, probe.keys, sample));
  auto const window = std::min(build.rows, kWindowRows);
  GARUDA_TRY_ASSIGN(auto const runs, MatchRuns::create(context, window));
  GARUDA_TRY_ASSIGN(auto const sum, context.device_buffer(sizeof(std::uint64_t), "sampled matches"));
  double matches = 0;
  for (std::uint64_t first = 0; first < build.rows; first += window) {
    auto const rows = std::min(window, build.rows - first);
    auto const keys = build.keys.address + first * build.keys.words * 4;
    GARUDA_TRY(record_look_ups(context, kEstimatePhase, side.index(), keys, rows, runs));
    GARUDA_TRY(record_reduce(context, kEstimatePhase, Reduction::add, runs.counts.address(), rows, 1, sum));
    GARUDA_TRY_ASSIGN(auto const found, context.read_value<std::uint64_t>(kEstimatePhase, sum));
    matches += static_cast<double>(found);
  }
  return matches * static_cast<double>(probe.rows) / static_cast<double>(sample.size());
}

Result<IndexedJoin> IndexedJoin::create(ComputeContext& context, DeviceRows build, DeviceRows probe) {
  GARUDA_EXPECTS(build.rows > 0 && probe.rows > 0 && build.keys.words == probe.keys.words);
  if (probe.rows > kMaxScanElements)
    return fail(ErrorCode::limit_exceeded,
                fmt::format("a join without partitions has at most {} probe rows: {}", kMaxScanElements, probe.rows));
  IndexedJoin join;
  GARUDA_TRY_ASSIGN(join.runs_, MatchRuns::create(context, probe.rows));
  GARUDA_TRY_ASSIGN(join.offsets_, context.device_buffer(probe.rows * 4, "first rows of probe rows"));
  GARUDA_TRY_ASSIGN(join.scan_, DeviceScan::create(context, probe.rows));
  auto const columns = build.payload.size() + probe.payload.size() + 2;  // with both sides' row numbers
  GARUDA_TRY_ASSIGN(join.columns_, context.device_buffer(columns * sizeof(shaders::JoinedColumn), "result columns"));
  join.build_rows_ = std::move(build);
  join.probe_rows_ = std::move(probe);
  GARUDA_TRY_ASSIGN(join.search_, KeyBoundsSearch::create(context));
  return join;
}

Result<void> IndexedJoin::record_index(ComputeContext& context) {
  if (build_rows_.index) return {};
  KeyBounds bounds;
  if (build_rows_.bounds) {
    bounds = *build_rows_.bounds;
  } else {
    GARUDA_TRY_ASSIGN(bounds, search_.find(context, kBoundsPhase, build_rows_.keys, build_rows_.rows));
  }
  // Other digits are sorted when the keys are no longer what they were.
  if (!build_ || build_->index().bounds != bounds) {
    GARUDA_TRY_ASSIGN(build_, IndexedSide::create(context, keys_of(build_rows_), bounds));
  }
  return build_->record(context);
}

Result<void> IndexedJoin::record_matches(ComputeContext& context) {
  GARUDA_TRY(record_index(context));
  GARUDA_TRY(record_look_ups(context, kMatchPhase, index(), probe_rows_.keys.address, probe_rows_.rows, runs_));
  return scan_.record(context, kSumPhase, {runs_.counts.address(), offsets_.address(), probe_rows_.rows});
}

Result<std::uint64_t> IndexedJoin::finish(ComputeContext& context) { return scan_.read_total(context, kSumPhase); }

Result<void> IndexedJoin::record_rows(ComputeContext& context, JoinedRows const& rows) {
  GARUDA_EXPECTS(rows.capacity > 0 && rows.capacity <= kMostJoinedRows);
  std::vector<shaders::JoinedColumn> columns;
  add_columns(probe_rows_, rows.probe, shaders::kFromProbe, columns);
  add_columns(build_rows_, rows.build, shaders::kFromBuild, columns);
  if (!columns.empty()) GARUDA_TRY(context.update(kExpandPhase, columns_, std::as_bytes(std::span(columns))));
  shaders::ExpandRowsPush push{};
  push.offsets = offsets_.address();
  push.total = scan_.total().address();
  push.firsts = runs_.firsts.address();
  push.build_rows = index().numbers;
  push.probe_keys = probe_rows_.keys.address;
  push.keys_out = rows.keys;
  push.columns = columns_.address();
  push.num_probe = static_cast<std::uint32_t>(probe_rows_.rows);
  push.num_columns = static_cast<std::uint32_t>(columns.size());
  push.capacity = static_cast<std::uint32_t>(rows.capacity);
  auto const tile = std::uint64_t{context.tuning().group_size} * kExpandItems;
  auto const shape = expand_shape(rows.keys != 0 ? index().key_words : 0);
  return context.dispatch(kExpandPhase, shape, push, groups_for(rows.capacity, tile), rows.capacity);
}

Result<void> IndexedJoin::record_marks(ComputeContext& context, bool of_build, vk::Buffer const& marks) {
  shaders::SortedMarksPush push{};
  push.build_keys = index().keys;
  push.firsts = runs_.firsts.address();
  push.counts = runs_.counts.address();
  push.marks = marks.address();
  auto const mark = [&](std::string_view entry, VkDeviceAddress numbers, std::uint64_t rows) {
    push.rows = numbers;
    push.num_rows = static_cast<std::uint32_t>(rows);
    return context.dispatch_each(vulkan::phase::kMark, mark_shape(entry, index().key_words), push, rows);
  };
  if (!of_build) return mark(kMarkProbe, 0, probe_rows_.rows);
  GARUDA_TRY_ASSIGN(auto const heads, context.device_buffer((index().rows + 31) / 32 * 4, "first rows of keys"));
  GARUDA_TRY(context.fill(vulkan::phase::kMark, heads, 0));
  push.heads = heads.address();
  GARUDA_TRY(mark(kMarkHeads, 0, probe_rows_.rows));
  GARUDA_TRY(mark(kMarkRuns, index().numbers, index().rows));
  // The heads are not read any more when they go.
  return context.submissions().finish();
}

std::uint64_t indexed_join_bytes(std::uint64_t build_rows, std::uint64_t probe_rows, std::uint32_t key_words,
                                 ComputeTuning const& tuning) noexcept {
  auto const passes = groups_for(std::uint64_t{key_words} * 32, kStableBits);
  auto const sorted = build_rows * 2 * (key_words * 4 + 4) +
                      passes * RadixPass::scratch_bytes(build_rows, 1, kStableBits, true, tuning);
  return build_rows * 16 + probe_rows * 12 + sorted;
}

std::vector<vk::ComputePipelineSpec> indexed_join_pipelines(ComputeTuning const& tuning) {
  std::vector<vk::ComputePipelineSpec> specs;
  for (std::uint32_t const words_out : {0U, 1U, 2U}) specs.push_back(compute_pipeline(expand_shape(words_out), tuning));
  for (std::uint32_t const key_words : {1U, 2U})
    for (auto const& shape : {index_shape(key_words), match_shape(key_words), mark_shape(kMarkProbe, key_words),
                              mark_shape(kMarkHeads, key_words), mark_shape(kMarkRuns, key_words)})
      specs.push_back(compute_pipeline(shape, tuning));
  return specs;
}

}  // namespace garuda::compute
