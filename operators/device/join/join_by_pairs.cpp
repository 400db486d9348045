#include "operators/device/join/join_by_pairs.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "operators/compute/condition_join/condition_program.hpp"
#include "operators/compute/join/unmatched_rows.hpp"
#include "operators/device/join/device_condition.hpp"
#include "operators/device/join/joinable_sides.hpp"
#include "operators/device/join/moved_sides.hpp"
#include "shaders/compute/conditions/conditions_layout.h"

namespace garuda::device {
namespace {

using compute::MarkedRows;
using compute::UnmatchedRows;
using contract::SideRows;

constexpr char const* kTestPhase = "test pairs";
constexpr std::uint64_t kPairBytes = 8;

/// A zeroed bitmap.
Result<vk::Buffer> take_marks(compute::ComputeContext& context, std::uint64_t rows) {
  GARUDA_TRY_ASSIGN(auto marks, context.device_buffer((rows + 31) / 32 * 4, "marks"));
  GARUDA_TRY(context.fill(kTestPhase, marks, 0));
  return marks;
}

/// Pairs and rows of the sides with what the condition says of them.
struct Tested {
  vk::Buffer pair_marks;
  vk::Buffer left_marks;
  vk::Buffer right_marks;
  std::vector<UnmatchedPart> unmatched;  ///< of the sides
  UnmatchedRows left_pairs;              ///< pairs that pass, seen by their left rows
  UnmatchedRows right_pairs;
  std::uint64_t pairs = 0;

  vk::Buffer& of(Side side) noexcept { return side == Side::left ? left_marks : right_marks; }
};

/// A program without steps lets all pairs pass.
Result<vk::Buffer> upload_program(compute::ComputeContext& context, std::optional<DeviceCondition> const& condition,
                                  std::uint64_t& steps) {
  std::vector<std::uint32_t> words(shaders::kStepWords);
  if (condition) words = condition->steps;
  steps = condition ? words.size() / shaders::kStepWords : 0;
  auto const bytes = std::as_bytes(std::span(words));
  GARUDA_TRY_ASSIGN(auto program, context.upload_buffer(bytes.size(), "condition"));
  GARUDA_TRY(context.upload(program, 0, bytes));
  return program;
}

/// Tests the pairs, and counts those that pass and the unmatched rows.
Result<void> test(compute::ComputeContext& context, MovedSides const& sides, JoinableSides const& joinable,
                  std::optional<DeviceCondition> const& condition, compute::ResidentResult const& joined,
                  Tested& tested) {
  GARUDA_TRY_ASSIGN(tested.pair_marks, take_marks(context, joined.rows));
  compute::TestedPairs pairs;
  pairs.pairs = joined.rows;
  pairs.left_rows = joined.left[0].address();
  pairs.right_rows = joined.right[0].address();
  pairs.marks = tested.pair_marks.address();
  pairs.many_words = condition && condition->has_many_words;
  for (auto const side : {Side::left, Side::right}) {
    if (sides.parts.rows(side) == SideRows::none) continue;
    GARUDA_TRY_ASSIGN(tested.of(side), take_marks(context, sides.of(side).rows().rows));
    (side == Side::left ? pairs.left_marks : pairs.right_marks) = tested.of(side).address();
  }
  std::uint64_t steps = 0;
  GARUDA_TRY_ASSIGN(auto const program, upload_program(context, condition, steps));
  GARUDA_TRY(compute::record_pair_filter(context, pairs, program, steps));
  MarkedRows passing;
  passing.rows = joined.rows;
  passing.marks = pairs.marks;
  passing.numbers = pairs.left_rows;
  GARUDA_TRY_ASSIGN(tested.left_pairs, UnmatchedRows::create(context, passing, SideRows::matched));
  passing.numbers = pairs.right_rows;
  GARUDA_TRY_ASSIGN(tested.right_pairs, UnmatchedRows::create(context, passing, SideRows::matched));
  GARUDA_TRY(tested.left_pairs.record_count(context));
  GARUDA_TRY(tested.right_pairs.record_count(context));
  std::vector<std::pair<Side, MarkedRows>> marked;
  for (auto const side : {Side::left, Side::right}) {
    if (sides.parts.rows(side) == SideRows::none) continue;
    auto const& rows = joinable.of(side);
    marked.emplace_back(side, MarkedRows{rows.rows, rows.keys, rows.payload, 0, tested.of(side).address()});
  }
  GARUDA_TRY_ASSIGN(tested.unmatched, find_unmatched(context, sides.parts, std::move(marked)));
  if (!sides.parts.pairs) return {};
  GARUDA_TRY_ASSIGN(tested.pairs, tested.left_pairs.count(context));
  return {};
}

/// The columns of a side for the pairs that pass, by row number.
std::vector<shaders::UnmatchedColumn> columns_of(MovedSides const& sides, Side side,
                                                 compute::DeviceRows const& joinable, DeviceTableState const& result) {
  std::vector<shaders::UnmatchedColumn> columns;
  auto const add = [&](std::size_t target, VkDeviceAddress source) {
    auto const& stored = result.stored[target];
    columns.push_back({source, stored.buffer.address(), stored.words, shaders::kUnmatchedCopy, 0, 0, 1, 0});
  };
  // Both sides' keys are the same.
  if (side == Side::left) add(0, joinable.keys.address);
  auto const& payload = joinable.payload;
  for (std::size_t i = 0; i < payload.size(); ++i) add(sides.first_of(side) + i, payload[i].address);
  return columns;
}

/// The places of pairs and of the unmatched left rows among them, by left row.
struct LeftPlaces {
  vk::Buffer paired_rows;  ///< left rows of the pairs that pass, ascending as the pairs do
  vk::Buffer unmatched_rows;
  vk::Buffer of_pairs;
  vk::Buffer of_unmatched;
};

/// Records the finding of these places. `pairs`: left rows of all pairs. `left`: the
/// unmatched left rows.
Result<LeftPlaces> find_places(compute::ComputeContext& context, VkDeviceAddress pairs, Tested& tested,
                               UnmatchedPart& left) {
  LeftPlaces places;
  auto const list = [&](UnmatchedRows& rows, std::uint64_t count, VkDeviceAddress source, vk::Buffer& numbers,
                        vk::Buffer& targets) -> Result<void> {
    auto const bytes = std::max<std::uint64_t>(count, 1) * sizeof(std::uint32_t);
    GARUDA_TRY_ASSIGN(numbers, context.device_buffer(bytes, "rows in order"));
    GARUDA_TRY_ASSIGN(targets, context.device_buffer(bytes, "places in order"));
    auto const operation = source == 0 ? shaders::kUnmatchedRow : shaders::kUnmatchedCopy;
    shaders::UnmatchedColumn const column{source, numbers.address(), 1, operation, 0, 0, 0, 0};
    return count > 0 ? rows.record_rows(context, std::span(&column, 1), 0) : Result<void>();
  };
  GARUDA_TRY(list(tested.left_pairs, tested.pairs, pairs, places.paired_rows, places.of_pairs));
  GARUDA_TRY(list(left.unmatched, left.rows, 0, places.unmatched_rows, places.of_unmatched));
  compute::RowList const paired{places.paired_rows.address(), tested.pairs};
  compute::RowList const unpaired{places.unmatched_rows.address(), left.rows};
  GARUDA_TRY(compute::record_merged_places(context, paired, unpaired, places.of_pairs));
  GARUDA_TRY(compute::record_merged_places(context, unpaired, paired, places.of_unmatched));
  left.places = places.of_unmatched.address();
  return places;
}

}  // namespace

Result<std::uint64_t> join_by_pairs(compute::ComputeContext& context, MovedSides const& sides,
                                    resolve::JoinRequest const& request, compute::ResidentJoinStrategy way,
                                    contract::StatsSink* stats, DeviceTableState* result) {
  GARUDA_EXPECTS(sides.by_pairs);
  auto const& condition = request.columns.condition;
  way.parts = compute::JoinedParts::numbers;
  way.marks = {};
  way.gathers = false;
  GARUDA_TRY_ASSIGN(auto const joinable, JoinableSides::create(context, sides, way, request.options.control));
  auto left = joinable.left;
  auto right = joinable.right;
  left.payload.clear();
  right.payload.clear();
  auto const room = std::min(std::max(left.rows, right.rows), context.bytes_left() / 4 / kPairBytes);
  GARUDA_TRY_ASSIGN(auto join, compute::ResidentJoin::create(context, std::move(left), std::move(right), room, way));
  GARUDA_TRY(join.record(context));
  GARUDA_TRY(join.finish(context));
  auto const& joined = join.result();
  if (stats != nullptr && condition) stats->add_counter("pairs_tested", joined.rows);
  std::optional<DeviceCondition> device_condition;
  if (condition) {
    GARUDA_TRY_ASSIGN(device_condition, DeviceCondition::create(context, request));
  }
  Tested tested;
  GARUDA_TRY(test(context, sides, joinable, device_condition, joined, tested));
  auto const rows = tested.pairs + rows_of(tested.unmatched);
  if (result == nullptr) return rows;
  GARUDA_TRY(take_moved(sides, rows, *result));
  LeftPlaces places;
  auto const left_unmatched = std::ranges::find(tested.unmatched, Side::left, &UnmatchedPart::side);
  if (request.spec.ordered && sides.parts.pairs && left_unmatched != tested.unmatched.end()) {
    GARUDA_TRY_ASSIGN(places, find_places(context, joined.left[0].address(), tested, *left_unmatched));
  }
  for (auto const side : {Side::left, Side::right}) {
    if (tested.pairs == 0) break;
    auto& pairs = side == Side::left ? tested.left_pairs : tested.right_pairs;
    auto const columns = columns_of(sides, side, joinable.of(side), *result);
    GARUDA_TRY(pairs.record_rows(context, columns, 0, places.of_pairs.address()));
  }
  GARUDA_TRY(write_rest(context, sides, tested.unmatched, tested.pairs, *result));
  return rows;
}

}  // namespace garuda::device
