#include "operators/compute/join/indexed_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "shaders/compute/join/partitioned_join_layout.h"
#include "shaders/compute/join/sorted_join_layout.h"

namespace garuda::compute {
namespace {

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
  auto specs = indexed_side_pipelines(tuning);
  for (std::uint32_t const words_out : {0U, 1U, 2U}) specs.push_back(compute_pipeline(expand_shape(words_out), tuning));
  for (std::uint32_t const key_words : {1U, 2U})
    for (auto const entry : {kMarkProbe, kMarkHeads, kMarkRuns})
      specs.push_back(compute_pipeline(mark_shape(entry, key_words), tuning));
  return specs;
}

}  // namespace garuda::compute
