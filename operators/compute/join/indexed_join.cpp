#include "operators/compute/join/indexed_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "shaders/compute/partitioned_join_layout.h"
#include "shaders/compute/sorted_join_layout.h"

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
  GARUDA_EXPECTS(rows.payload.size() == targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i)
    columns.push_back({rows.payload[i].address, targets[i], rows.payload[i].words, from});
}

}  // namespace

PassShape expand_rows_shape(std::uint32_t key_words) {
  return {
      "compute/expand_rows.comp", 0, kExpandItems, sizeof(shaders::ExpandRowsPush), {{shaders::kSpecWords, key_words}}};
}

Result<IndexedJoin> IndexedJoin::create(ComputeContext& context, DeviceRows build, DeviceRows probe, bool sort_probe) {
  GARUDA_EXPECTS(build.rows > 0 && probe.rows > 0 && build.keys.words == probe.keys.words);
  if (probe.rows > kMaxScanElements)
    return fail(ErrorCode::limit_exceeded,
                fmt::format("a join without partitions has at most {} probe rows: {}", kMaxScanElements, probe.rows));
  IndexedJoin join;
  GARUDA_TRY_ASSIGN(join.runs_, MatchRuns::create(context, probe.rows));
  GARUDA_TRY_ASSIGN(join.offsets_, context.device_buffer(probe.rows * 4, "first rows of probe rows"));
  GARUDA_TRY_ASSIGN(join.scan_, DeviceScan::create(context, probe.rows));
  auto const columns = std::max<std::size_t>(build.payload.size() + probe.payload.size(), 1);
  GARUDA_TRY_ASSIGN(join.columns_, context.device_buffer(columns * sizeof(shaders::JoinedColumn), "result columns"));
  join.build_rows_ = std::move(build);
  join.probe_rows_ = std::move(probe);
  join.sort_probe_ = sort_probe;
  GARUDA_TRY_ASSIGN(join.search_, KeyBoundsSearch::create(context));
  return join;
}

/// Sorts by other digits when the keys are no longer what they were.
Result<void> IndexedJoin::find_bounds(ComputeContext& context) {
  GARUDA_TRY_ASSIGN(auto const bounds, search_.find(context, kBoundsPhase, build_rows_.keys, build_rows_.rows));
  if (build_ && build_->bounds() == bounds) return {};
  GARUDA_TRY_ASSIGN(build_, IndexedSide::create(context, keys_of(build_rows_), bounds));
  // Probe keys that differ above these bits match nothing, so those that match are in order all the same.
  if (!sort_probe_) return {};
  GARUDA_TRY_ASSIGN(probe_, SortedSide::create(context, keys_of(probe_rows_), bounds.differing_bits()));
  return {};
}

Result<void> IndexedJoin::record(ComputeContext& context, JoinedRows const& rows) {
  GARUDA_TRY(find_bounds(context));
  GARUDA_TRY(build_->record(context));
  if (probe_) GARUDA_TRY(probe_->record(context));
  auto const keys = probe_ ? probe_->keys().address() : probe_rows_.keys.address;
  GARUDA_TRY(build_->record_matches(context, kMatchPhase, keys, probe_rows_.rows, runs_));
  GARUDA_TRY(scan_.record(context, kSumPhase, {runs_.counts.address(), offsets_.address(), probe_rows_.rows}));
  return record_rows(context, rows);
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
  push.build_rows = build_->sorted().numbers().address();
  push.probe_rows = probe_ ? probe_->numbers().address() : 0;
  push.probe_keys = probe_ ? probe_->keys().address() : probe_rows_.keys.address;
  push.keys_out = rows.keys;
  push.columns = columns_.address();
  push.num_probe = static_cast<std::uint32_t>(probe_rows_.rows);
  push.num_columns = static_cast<std::uint32_t>(columns.size());
  push.capacity = static_cast<std::uint32_t>(rows.capacity);
  auto const tile = std::uint64_t{context.tuning().group_size} * kExpandItems;
  return context.dispatch(kExpandPhase, expand_rows_shape(build_->key_words()), push, groups_for(rows.capacity, tile),
                          rows.capacity);
}

std::uint64_t indexed_join_bytes(std::uint64_t build_rows, std::uint64_t probe_rows, std::uint32_t key_words,
                                 bool sort_probe, ComputeTuning const& tuning) noexcept {
  auto stable = tuning;
  stable.stable_join = true;
  auto const passes = groups_for(std::uint64_t{key_words} * 32, tuning.stable_bits);
  auto const sorted = [&](std::uint64_t rows) {
    return rows * 2 * (key_words * 4 + 4) + passes * RadixPass::scratch_bytes(rows, 1, tuning.stable_bits, stable);
  };
  return build_rows * 16 + probe_rows * 12 + sorted(build_rows) + (sort_probe ? sorted(probe_rows) : 0);
}

}  // namespace garuda::compute
