// Columns of the result move, the others stay where they are.
#include "operators/device/device_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "expr/sides.hpp"
#include "operators/compute/join/indexed_join.hpp"
#include "operators/compute/join/resident_join.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/device/device_result.hpp"
#include "operators/device/device_table.hpp"
#include "operators/device/join/device_condition.hpp"
#include "operators/device/join/join_by_pairs.hpp"
#include "operators/device/join/joinable_sides.hpp"
#include "operators/device/join/moved_sides.hpp"
#include "operators/device/known_values.hpp"
#include "operators/device/strings/string_numbers.hpp"
#include "operators/materialize/column_words.hpp"
#include "operators/run/query_run.hpp"

namespace garuda::device {
namespace {

using compute::MarkedRows;
using contract::SideRows;

/// Columns of a result with room for so many times its rows are copied to columns that fit.
constexpr std::uint64_t kMostSlack = 2;
constexpr char const* kShrinkPhase = "shrink";

/// The unmatched rows of a join that is recorded.
Result<std::vector<UnmatchedPart>> unmatched_of(compute::ComputeContext& context, contract::JoinParts const& parts,
                                                compute::MarkedSides const& marks, compute::ResidentJoin& join) {
  std::vector<std::pair<Side, MarkedRows>> sides;
  for (auto const side : {Side::left, Side::right}) {
    if (!marks.of(side)) continue;
    GARUDA_TRY_ASSIGN(auto marked, join.marked_rows(context, side));
    sides.emplace_back(side, std::move(marked));
  }
  return find_unmatched(context, parts, std::move(sides));
}

/// Copies the result to columns of its own size.
Result<void> shrink(compute::ComputeContext& context, DeviceTableState& result, std::uint64_t row_bytes) {
  auto const roomy = std::exchange(result.arena, column_arena(*result.device.open.device, result.rows * row_bytes));
  auto const large = std::exchange(result.stored, {});
  GARUDA_TRY(context.order_all(kShrinkPhase));
  for (auto const& column : large) {
    if (!column.buffer) {
      result.stored.push_back({{}, column.words});
      continue;
    }
    GARUDA_TRY_ASSIGN(auto stored, take_column(result, column.words));
    GARUDA_TRY_ASSIGN(auto* const recorder, context.submissions().record(kShrinkPhase));
    recorder->copy(column.buffer.view(0, stored.buffer.bytes()), stored.buffer.view());
    result.stored.push_back(std::move(stored));
  }
  GARUDA_TRY(context.order_all(kShrinkPhase));
  return context.submissions().finish();
}

/// Rows that the result gets room for at first: a foreign key finds its primary key; more room is taken where rows
/// multiply.
std::uint64_t first_room(compute::ComputeContext const& context, JoinableSides const& sides,
                         std::uint64_t expected_rows, std::uint64_t row_bytes) {
  auto const wanted = expected_rows != 0 ? expected_rows : std::max(sides.left.rows, sides.right.rows);
  return std::min(wanted, context.bytes_left() / 4 / row_bytes);
}

void keep(compute::ResidentResult owned, MovedSides const& sides, DeviceTableState& result) {
  result.stored.push_back({std::move(owned.keys), sides.key_words});
  for (std::size_t i = 0; i < owned.left.size(); ++i)
    result.stored.push_back({std::move(owned.left[i]), sides.left.rows().payload[i].words});
  for (std::size_t i = 0; i < owned.right.size(); ++i)
    result.stored.push_back({std::move(owned.right[i]), sides.right.rows().payload[i].words});
}

/// Pairs of the join, about.
Result<double> estimate(compute::ComputeContext& context, JoinableSides const& sides) {
  bool const left_is_smaller = sides.left.rows <= sides.right.rows;
  return compute::estimate_matches(context, left_is_smaller ? sides.left : sides.right,
                                   left_is_smaller ? sides.right : sides.left);
}

Result<std::uint64_t> count_matched(compute::ComputeContext& context, MarkedRows const& rows) {
  GARUDA_TRY_ASSIGN(auto matched, compute::UnmatchedRows::create(context, rows, SideRows::matched));
  GARUDA_TRY(matched.record_count(context));
  return matched.count(context);
}

/// Counts the rows of both sides of a bitmap's join, of which the build side has no key twice.
Result<std::uint64_t> count_by_bitmap(compute::ComputeContext& context, MovedSides const& sides,
                                      compute::ResidentJoinStrategy const& way, Control const& control) {
  auto const build = *way.build;
  auto const probe = other_side(build);
  GARUDA_TRY_ASSIGN(auto const marked, mark_by_bitmap(context, sides, build, way, control));
  GARUDA_TRY_ASSIGN(auto const pairs, count_matched(context, marked.rows));
  auto build_matched = pairs;
  bool const is_unique = !sides.composed && is_known_unique(sides.of(probe).table(), sides.of(probe).key_column());
  if (way.marks.of(build) && !is_unique) {
    GARUDA_TRY_ASSIGN(auto const back, mark_by_bitmap(context, sides, probe, way, control));
    GARUDA_TRY_ASSIGN(build_matched, count_matched(context, back.rows));
  }
  auto rows = pairs;
  for (auto const side : {Side::left, Side::right})
    rows += contract::num_side_rows(sides.parts.rows(side), sides.of(side).rows().rows,
                                    side == build ? build_matched : pairs);
  return rows;
}

/// Makes rows of pairs, then unmatched rows; the result's columns become `result`'s, or with nullptr rows are only
/// counted. Returns their number.
Result<std::uint64_t> join_pairs(compute::ComputeContext& context, MovedSides const& sides, std::uint64_t expected_rows,
                                 compute::ResidentJoinStrategy const& way, Control const& control,
                                 DeviceTableState* result) {
  if (way.method == JoinMethod::bitmap) return count_by_bitmap(context, sides, way, control);
  GARUDA_TRY_ASSIGN(auto const joinable, JoinableSides::create(context, sides, way, control));
  auto const row_bytes = sides.result_row_bytes();
  if (result != nullptr) {
    expected_rows = first_room(context, joinable, expected_rows, row_bytes);
    result->arena = column_arena(*result->device.open.device, expected_rows * row_bytes);
  } else if (expected_rows == 0 && way.method == JoinMethod::partitioned) {
    GARUDA_TRY_ASSIGN(auto const matches, estimate(context, joinable));
    expected_rows = static_cast<std::uint64_t>(std::clamp(matches, 1.0, static_cast<double>(compute::kMostJoinedRows)));
  }
  GARUDA_TRY_ASSIGN(auto join, compute::ResidentJoin::create(context, joinable.left, joinable.right, expected_rows, way,
                                                             result != nullptr ? result->arena.get() : nullptr));
  GARUDA_TRY(join.record(context));
  GARUDA_TRY_ASSIGN(auto unmatched, unmatched_of(context, sides.parts, way.marks, join));
  if (result == nullptr) {
    GARUDA_TRY_ASSIGN(auto const pairs, join.count(context));
    return pairs + rows_of(unmatched);
  }
  GARUDA_TRY(join.finish(context, rows_of(unmatched)));
  auto& joined = join.result();
  result->rows = joined.rows + rows_of(unmatched);
  bool const is_roomy = joined.capacity / kMostSlack > result->rows;
  auto const pairs = joined.rows;
  keep(std::move(joined), sides, *result);
  GARUDA_TRY(write_rest(context, sides, unmatched, pairs, *result));
  if (is_roomy) GARUDA_TRY(shrink(context, *result, row_bytes));
  return result->rows;
}

/// Makes the result of a join without pairs, or counts it: left rows and nothing else, which need no marks where all of
/// them are counted.
Result<std::uint64_t> join_marks(compute::ComputeContext& context, MovedSides const& sides,
                                 compute::ResidentJoinStrategy const& way, Control const& control,
                                 DeviceTableState* result) {
  if (result == nullptr && !way.marks.left) return sides.left.rows().rows;
  GARUDA_TRY_ASSIGN(auto const left, mark_left(context, sides, way, control));
  GARUDA_TRY_ASSIGN(auto unmatched, find_unmatched(context, sides.parts, {{Side::left, left.rows}}));
  auto const rows = rows_of(unmatched);
  if (result == nullptr) return rows;
  GARUDA_TRY(take_moved(sides, rows, *result));
  GARUDA_TRY(write_rest(context, sides, unmatched, 0, *result));
  return rows;
}

Result<std::unique_ptr<compute::ComputeLane>> open_lane(resolve::JoinRequest const& request,
                                                        contract::StatsSink* stats) {
  return compute::ComputeLane::open(request.left.resident()->device.open, request.options.control, stats,
                                    request.options.device_memory_limit_bytes);
}

/// Joins, or with nullptr for `result` counts. Returns the number of rows.
Result<std::uint64_t> join_sides(resolve::JoinRequest const& request, MovedSides const& sides,
                                 compute::ResidentJoinStrategy const& way, contract::StatsSink& stats,
                                 DeviceTableState* result) {
  GARUDA_TRY_ASSIGN(auto const lane, open_lane(request, &stats));
  auto& context = lane->context();
  auto const& options = request.options;
  if (sides.by_pairs) return join_by_pairs(context, sides, request, way, &stats, result);
  return sides.parts.pairs ? join_pairs(context, sides, options.expected_rows, way, options.control, result)
                           : join_marks(context, sides, way, options.control, result);
}

}  // namespace

Result<compute::ResidentJoinShape> resident_join_shape(resolve::JoinRequest const& request, bool counts) {
  GARUDA_TRY_ASSIGN(auto const sides, moved_sides(request, counts));
  compute::ResidentJoinShape shape;
  for (auto const side : {Side::left, Side::right}) {
    auto& own = side == Side::left ? shape.left : shape.right;
    own = compute::shape_of(sides.of(side).rows());
    own.has_index = index_of(sides, side) != nullptr;
    own.may_have_null_keys = sides.has_null_keys(side);
  }
  shape.key_bytes = static_cast<double>(sides.key_words * materialize::kWordBytes);
  shape.ordered = request.spec.ordered && !counts;
  shape.nulls_equal = sides.nulls_equal;
  auto const number = [&](Strings const& strings) {
    auto const rows = sides.left.rows().rows + sides.right.rows().rows;
    shape.strings.push_back(numbered_strings(sides.left.table(), strings, rows));
  };
  if (sides.key_strings != nullptr) number(*sides.key_strings);
  if (sides.composed) {
    shape.composed = shape_of(*sides.composed);
    for (auto const& part : sides.composed->parts)
      if (part.strings != nullptr) number(*part.strings);
  }
  if (!sides.by_pairs) {
    shape.parts = sides.parts;
    shape.counts = counts;
    return shape;
  }
  // Pairs of row numbers, whose values are read where they lie.
  if (request.columns.condition) {
    auto const reads = condition_reads(request);
    shape.tested_reads = reads.values;
    shape.converted_bytes = reads.made_bytes;
  }
  for (auto* const side : {&shape.left, &shape.right}) {
    shape.tested_reads += side->payload_columns;
    side->payload_bytes = side->payload_columns = 0;
  }
  return shape;
}

Result<void> check_joined_keys(resolve::JoinRequest const& request) {
  GARUDA_TRY(moved_sides(request, true));
  return {};
}

Result<void> look_at_keys(resolve::JoinRequest const& request, rates::DeviceRates const& rates,
                          compute::ComputeTuning const& tuning, compute::ResidentJoinShape& shape) {
  GARUDA_TRY_ASSIGN(auto const sides, moved_sides(request, true));
  for (auto const side : {Side::right, Side::left}) {
    if (!compute::may_use_bitmap(shape, side)) continue;
    bool const is_left = side == Side::left;
    auto& own = is_left ? shape.left : shape.right;
    GARUDA_TRY_ASSIGN(auto const range, key_range(sides, side, request.options.control));
    if (!range) continue;
    own.key_span = static_cast<double>(range->span);
    auto const other = shape.parts.rows(other_side(side));
    bool const is_decided = (is_left ? shape.right : shape.left).is_unique && other == SideRows::none;
    // Whether strings, or composed keys, are unique is not looked at.
    bool const is_open =
        shape.parts.pairs && range->span <= compute::kMostBitmapSpan && sides.key_strings == nullptr && !sides.composed;
    if (!is_open || is_decided) continue;
    auto hoped = shape;  // where neither side has a key twice, nothing is looked up both ways
    hoped.left.is_unique = hoped.right.is_unique = true;
    GARUDA_TRY_ASSIGN(auto const ways, compute::resident_join_strategies(hoped, rates, tuning));
    if (ways.front().method != JoinMethod::bitmap) continue;
    GARUDA_TRY_ASSIGN(own.is_unique,
                      has_unique_values(sides.of(side).table(), sides.of(side).key_column(), request.options.control));
  }
  return {};
}

Result<double> sample_matches(resolve::JoinRequest const& request) {
  GARUDA_TRY_ASSIGN(auto const sides, moved_sides(request, true));
  GARUDA_TRY_ASSIGN(auto const lane, open_lane(request, nullptr));
  GARUDA_TRY_ASSIGN(auto const joinable, JoinableSides::create(lane->context(), sides, {}, request.options.control));
  return estimate(lane->context(), joinable);
}

Result<std::unique_ptr<JoinResult>> join_device_tables(resolve::JoinRequest const& request, Plan plan,
                                                       compute::ResidentJoinStrategy const& way,
                                                       std::unique_ptr<run::QueryRun> run) {
  GARUDA_TRY_ASSIGN(auto sides, moved_sides(request, false));
  auto result = std::make_unique<DeviceTableState>();
  result->device = request.left.resident()->device;
  place_columns(sides, request, *result);
  GARUDA_TRY(join_sides(request, sides, way, run->recorder, result.get()));
  RunStats inputs;
  inputs.rows_left = sides.left.table().rows;
  inputs.rows_right = sides.right.table().rows;
  DeviceResultOptions const options{"join", request.options.control, request.options.tuning.upload, plan.lanes, inputs};
  return std::make_unique<DeviceResult>(DeviceTable(std::move(result)), std::move(plan), options, std::move(run));
}

Result<std::uint64_t> count_device_tables(resolve::JoinRequest const& request, compute::ResidentJoinStrategy const& way,
                                          contract::StatsSink& stats) {
  GARUDA_TRY_ASSIGN(auto const sides, moved_sides(request, true));
  return join_sides(request, sides, way, stats, nullptr);
}

}  // namespace garuda::device
