// The group-by of a table that lives on a device: integer keys and aggregates, the groups stay there.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <unordered_map>
#include <utility>

#include "garuda/engine.hpp"
#include "operators/compute/compute_lane.hpp"
#include "operators/compute/resident_group_by.hpp"
#include "operators/device_table.hpp"
#include "operators/run_recorder.hpp"

namespace garuda::operators {
namespace {

constexpr std::uint64_t kWordBytes = 4;
constexpr std::uint64_t kMostRows = std::uint64_t{1} << 30;
constexpr char const* kSamplePhase = "sample";
constexpr char const* kKeepPhase = "keep";
// Keys looked at where nobody says how many groups there are: short runs, evenly spread.
constexpr std::uint64_t kSampledRuns = 64;
constexpr std::uint64_t kRunKeys = 256;

Result<void> check_key(DeviceTableState const& table, ResolvedGroupBy const& columns) {
  if (columns.keys.size() != 1)
    return fail(ErrorCode::invalid_input, fmt::format("a group-by on a device has one key: {}", columns.keys.size()));
  auto const key = columns.keys[0];
  if (!is_device_key(table.schema[key].type.id))
    return fail(ErrorCode::invalid_input,
                fmt::format("the key of a group-by on a device is an integer, date, timestamp or decimal of at most 64 "
                            "bits: '{}' of type {}",
                            table.schema[key].name, to_string(table.schema[key].type)));
  if (table.columns[key].nulls)
    return fail(
        ErrorCode::invalid_input,
        fmt::format("the key column '{}' has nulls, which a group-by on a device does not take; filter them out "
                    "before the upload",
                    table.schema[key].name));
  if (columns.aggregates.size() > kMostResidentAggregates)
    return fail(ErrorCode::invalid_input, fmt::format("a group-by on a device has at most {} aggregates: {}",
                                                      kMostResidentAggregates, columns.aggregates.size()));
  if (table.rows > kMostRows)
    return fail(ErrorCode::limit_exceeded,
                fmt::format("a table grouped on a device has at most 2^30 rows: {}", table.rows));
  return {};
}

ResidentFunction sum_of(ValueKind kind) {
  if (kind == ValueKind::int32) return ResidentFunction::sum_i32;
  if (kind == ValueKind::uint32) return ResidentFunction::sum_u32;
  if (kind == ValueKind::int64) return ResidentFunction::sum_i64;
  return kind == ValueKind::uint64 ? ResidentFunction::sum_u64 : ResidentFunction::none;
}

/// The function of the pass; nothing where there is none for the type. Narrow signed values lie without their sign.
ResidentFunction function_of(ResolvedAggregate const& aggregate, ValueKind kind) {
  auto const function = aggregate.row->function;
  if (function == AggregateFunction::count) return ResidentFunction::count;
  bool const is_narrow = byte_width(aggregate.input) < static_cast<std::int32_t>(kWordBytes);
  if (aggregate.input.id == TypeId::boolean || (is_narrow && is_signed_integer(kind))) return ResidentFunction::none;
  bool const is_integer = aggregate.result.id == TypeId::int64 || aggregate.result.id == TypeId::uint64;
  if (function == AggregateFunction::sum) return is_integer ? sum_of(kind) : ResidentFunction::none;
  bool const is_min = function == AggregateFunction::min;
  if (function == AggregateFunction::mean) return ResidentFunction::none;
  if (kind == ValueKind::int32) return is_min ? ResidentFunction::min_i32 : ResidentFunction::max_i32;
  if (kind == ValueKind::uint32) return is_min ? ResidentFunction::min_u32 : ResidentFunction::max_u32;
  return ResidentFunction::none;
}

/// What goes to the passes: each stored column that they read, once.
struct GroupedRows {
  DeviceRows rows;
  std::vector<ResidentAggregate> aggregates;
};

Result<GroupedRows> rows_of(DeviceTableState const& table, ResolvedGroupBy const& columns) {
  auto const at = [&](std::size_t stored) {
    return DeviceColumn{table.stored[stored].buffer.address(), table.stored[stored].words};
  };
  GroupedRows grouped;
  grouped.rows.rows = table.rows;
  grouped.rows.keys = at(table.columns[columns.keys[0]].stored);
  std::vector<std::size_t> moved;
  for (auto const& aggregate : columns.aggregates) {
    auto const& state = columns.states[aggregate.state];
    if (state.column && table.columns[*state.column].nulls)
      return fail(ErrorCode::invalid_input, fmt::format("'{}' has nulls, which aggregates on a device do not take",
                                                        table.schema[*state.column].name));
    auto const function = function_of(aggregate, state.kind);
    if (function == ResidentFunction::none)
      return fail(ErrorCode::invalid_input,
                  fmt::format("aggregates on a device are counts, sums of integers of 32 and 64 bits and of narrow "
                              "unsigned ones, least and greatest values of at most 32 bits of these: {} of type {}",
                              aggregate.name, to_string(aggregate.input)));
    if (function == ResidentFunction::count) {
      grouped.aggregates.push_back({function, 0});
      continue;
    }
    auto const stored = table.columns[*state.column].stored;
    auto const found = std::ranges::find(moved, stored);
    grouped.aggregates.push_back({function, static_cast<std::size_t>(found - moved.begin())});
    if (found != moved.end()) continue;
    moved.push_back(stored);
    grouped.rows.payload.push_back(at(stored));
  }
  return grouped;
}

/// How many groups there are, about, from the keys of a sample that come once and twice (Chao 1984).
std::uint64_t estimate_groups(std::span<std::uint64_t const> keys, std::uint64_t rows) {
  std::unordered_map<std::uint64_t, std::uint32_t> counts;
  for (auto const key : keys) ++counts[key];
  double once = 0;
  double twice = 0;
  for (auto const& [key, count] : counts) {
    once += count == 1 ? 1 : 0;
    twice += count == 2 ? 1 : 0;
  }
  auto const unseen = once * once / (2 * std::max(twice, 1.0));
  auto const estimate = static_cast<double>(counts.size()) + unseen;
  return static_cast<std::uint64_t>(std::min(estimate, static_cast<double>(rows)));
}

Result<std::uint64_t> sample_groups(ComputeContext& context, DeviceTableState::Stored const& keys, std::uint64_t rows) {
  auto const run = std::min(kRunKeys, rows);
  auto const runs = std::min(kSampledRuns, rows / run);
  auto const key_bytes = keys.words * kWordBytes;
  GARUDA_TRY_ASSIGN(auto const sample, context.device_buffer(runs * run * key_bytes, "sample of keys"));
  GARUDA_TRY(context.order_all(kSamplePhase));
  for (std::uint64_t i = 0; i < runs; ++i) {
    GARUDA_TRY_ASSIGN(auto* const recorder, context.submissions().record(kSamplePhase));
    auto const first = rows / runs * i;
    recorder->copy(keys.buffer.view(first * key_bytes, run * key_bytes),
                   sample.view(i * run * key_bytes, run * key_bytes));
  }
  GARUDA_TRY(context.order_all(kSamplePhase));
  std::vector<std::uint32_t> words(runs * run * keys.words);
  GARUDA_TRY(context.download(sample, std::as_writable_bytes(std::span(words))));
  std::vector<std::uint64_t> values;
  for (std::size_t i = 0; i < words.size(); i += keys.words)
    values.push_back(words[i] | (keys.words == 2 ? std::uint64_t{words[i + 1]} << 32 : 0));
  return estimate_groups(values, rows);
}

/// Copies the groups to columns of their own.
Result<void> keep(ComputeContext& context, ResidentGroups const& groups, std::uint32_t key_words,
                  std::span<std::uint32_t const> words, DeviceTableState& result) {
  std::vector<std::pair<vk::Buffer const*, std::uint32_t>> columns{{groups.keys, key_words}};
  for (std::size_t a = 0; a < groups.aggregates.size(); ++a) columns.emplace_back(groups.aggregates[a], words[a]);
  result.rows = groups.groups;
  std::uint64_t bytes = 0;
  for (auto const& [buffer, each] : columns) bytes += result.rows * each * kWordBytes;
  result.arena = column_arena(*result.device.open.device, bytes);
  GARUDA_TRY(context.order_all(kKeepPhase));
  for (auto const& [buffer, each] : columns) {
    vk::BufferSpec spec;
    spec.bytes = std::max<std::uint64_t>(result.rows * each * kWordBytes, kWordBytes);
    spec.name = "grouped column";
    GARUDA_TRY_ASSIGN(auto kept, result.arena->buffer(spec));
    if (buffer != nullptr) {
      GARUDA_TRY_ASSIGN(auto* const recorder, context.submissions().record(kKeepPhase));
      recorder->copy(buffer->view(0, spec.bytes), kept.view());
    }
    result.stored.push_back({std::move(kept), each});
  }
  GARUDA_TRY(context.order_all(kKeepPhase));
  return context.submissions().finish();
}

void describe(DeviceTableState const& table, ResolvedGroupBy const& columns, DeviceTableState& result) {
  result.schema.push_back(table.schema[columns.keys[0]]);
  for (auto const& aggregate : columns.aggregates) result.schema.push_back({aggregate.name, aggregate.result, true});
  for (std::size_t c = 0; c < result.schema.size(); ++c) result.columns.push_back({c, std::nullopt, 0});
}

}  // namespace

Result<DeviceGroupBy> group_device_table(DeviceTable const& table, ResolvedGroupBy const& columns,
                                         DeviceGroupByOptions const& options) {
  auto const start = std::chrono::steady_clock::now();
  auto const& state = table.state();
  GARUDA_TRY(check_key(state, columns));
  GARUDA_TRY_ASSIGN(auto const grouped, rows_of(state, columns));
  std::vector<std::uint32_t> words;
  for (auto const& aggregate : grouped.aggregates) words.push_back(resident_result_words(aggregate.function));

  RunRecorder recorder;
  auto const& device = state.device;
  auto result = std::make_unique<DeviceTableState>();
  result->device = device;
  describe(state, columns, *result);
  {
    GARUDA_TRY_ASSIGN(auto const lane, ComputeLane::open(*device.open.device, *device.open.pipelines, options.tuning,
                                                         options.control, &recorder));
    auto& context = lane->context();
    auto const key_words = grouped.rows.keys.words;
    if (state.rows == 0) {
      ResidentGroups none;
      none.aggregates.resize(words.size());
      GARUDA_TRY(keep(context, none, key_words, words, *result));
    } else {
      auto expected = options.expected_groups;
      if (expected == 0) {
        auto const& keys = state.stored[state.columns[columns.keys[0]].stored];
        GARUDA_TRY_ASSIGN(expected, sample_groups(context, keys, state.rows));
      }
      GARUDA_TRY_ASSIGN(auto group_by, ResidentGroupBy::create(context, grouped.rows, grouped.aggregates, expected));
      GARUDA_TRY(group_by.record(context));
      GARUDA_TRY_ASSIGN(auto const groups, group_by.finish(context));
      GARUDA_TRY(keep(context, groups, key_words, words, *result));
    }
  }
  auto stats = recorder.stats_since(start);
  stats.path = Path::compute;
  stats.device = device.info->name;
  stats.driver = device.info->driver;
  stats.rows = table.num_rows();
  stats.rows_out = result->rows;
  return DeviceGroupBy{DeviceTable(std::move(result)), std::move(stats)};
}

}  // namespace garuda::operators
