#include "operators/device/join/tested_join.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "operators/compute/join/alone_rows.hpp"
#include "operators/compute/join/pair_filter.hpp"
#include "operators/device/join/device_condition.hpp"
#include "operators/device/join/joinable_sides.hpp"
#include "operators/device/join/joined_columns.hpp"
#include "shaders/compute/nested_join_layout.h"

namespace garuda::device {
namespace {

using compute::AloneRows;
using compute::MarkedRows;
using contract::Alone;

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
  std::vector<AlonePart> alone;  ///< of the sides
  AloneRows left_pairs;          ///< pairs that pass, seen by their left rows
  AloneRows right_pairs;
  std::uint64_t pairs = 0;

  vk::Buffer& of(Side side) noexcept { return side == Side::left ? left_marks : right_marks; }
};

Result<vk::Buffer> upload_program(compute::ComputeContext& context, MovedSides const& sides,
                                  resolve::ResolvedCondition const& condition, std::uint64_t& steps) {
  auto const words = condition_steps(sides.left.table(), sides.right.table(), condition);
  steps = words.size() / shaders::kStepWords;
  auto const bytes = std::as_bytes(std::span(words));
  GARUDA_TRY_ASSIGN(auto program, context.upload_buffer(bytes.size(), "condition"));
  GARUDA_TRY(context.upload(program, 0, bytes));
  return program;
}

/// Tests the pairs, and counts what passes, and the rows that come alone.
Result<void> test(compute::ComputeContext& context, MovedSides const& sides, JoinableSides const& joinable,
                  resolve::ResolvedCondition const& condition, compute::ResidentResult const& joined, Tested& tested) {
  GARUDA_TRY_ASSIGN(tested.pair_marks, take_marks(context, joined.rows));
  compute::TestedPairs pairs;
  pairs.pairs = joined.rows;
  pairs.left_rows = joined.left[0]->address();
  pairs.right_rows = joined.right[0]->address();
  pairs.marks = tested.pair_marks.address();
  for (auto const side : {Side::left, Side::right}) {
    if (sides.parts.alone(side) == Alone::none) continue;
    GARUDA_TRY_ASSIGN(tested.of(side), take_marks(context, sides.of(side).rows().rows));
    (side == Side::left ? pairs.left_marks : pairs.right_marks) = tested.of(side).address();
  }
  std::uint64_t steps = 0;
  GARUDA_TRY_ASSIGN(auto const program, upload_program(context, sides, condition, steps));
  GARUDA_TRY(compute::record_pair_filter(context, pairs, program, steps));
  MarkedRows passing;
  passing.rows = joined.rows;
  passing.marks = pairs.marks;
  passing.numbers = pairs.left_rows;
  GARUDA_TRY_ASSIGN(tested.left_pairs, AloneRows::create(context, passing, Alone::matched));
  passing.numbers = pairs.right_rows;
  GARUDA_TRY_ASSIGN(tested.right_pairs, AloneRows::create(context, passing, Alone::matched));
  GARUDA_TRY(tested.left_pairs.record_count(context));
  GARUDA_TRY(tested.right_pairs.record_count(context));
  for (auto const side : {Side::left, Side::right}) {
    if (sides.parts.alone(side) == Alone::none) continue;
    auto const& rows = sides.of(side).rows();
    auto const& keys = (side == Side::left ? joinable.left : joinable.right).keys;
    MarkedRows marked{rows.rows, keys, rows.payload, 0, tested.of(side).address()};
    GARUDA_TRY_ASSIGN(auto alone, AloneRows::create(context, marked, sides.parts.alone(side)));
    GARUDA_TRY(alone.record_count(context));
    tested.alone.push_back({side, std::move(marked), std::move(alone), 0});
  }
  for (auto& part : tested.alone) {
    GARUDA_TRY_ASSIGN(part.rows, part.alone.count(context));
  }
  if (!sides.parts.pairs) return {};
  GARUDA_TRY_ASSIGN(tested.pairs, tested.left_pairs.count(context));
  return {};
}

/// The columns of a side for the pairs that pass, by row number.
std::vector<shaders::AloneColumn> columns_of(MovedSides const& sides, Side side, compute::DeviceRows const& joinable,
                                             DeviceTableState const& result) {
  std::vector<shaders::AloneColumn> columns;
  auto const add = [&](std::size_t target, VkDeviceAddress source) {
    auto const& stored = result.stored[target];
    columns.push_back({source, stored.buffer.address(), stored.words, shaders::kAloneCopy, 0, 0, 1, 0});
  };
  // Both sides' keys are the same.
  if (side == Side::left) add(0, joinable.keys.address);
  auto const& payload = sides.of(side).rows().payload;
  for (std::size_t i = 0; i < payload.size(); ++i) add(sides.first_of(side) + i, payload[i].address);
  return columns;
}

}  // namespace

Result<std::uint64_t> join_tested(compute::ComputeContext& context, MovedSides const& sides,
                                  resolve::ResolvedCondition const& condition, compute::ResidentJoinWay way,
                                  std::uint64_t expected_pairs, contract::StatsSink* stats, DeviceTableState* result) {
  GARUDA_EXPECTS(sides.is_tested);
  way.parts = compute::JoinedParts::numbers;
  way.marks = {};
  way.gathers = false;
  GARUDA_TRY_ASSIGN(auto const joinable, JoinableSides::create(context, sides, way));
  auto left = joinable.left;
  auto right = joinable.right;
  left.payload.clear();
  right.payload.clear();
  auto const wanted = expected_pairs != 0 ? expected_pairs : std::max(left.rows, right.rows);
  auto const room = std::min(wanted, context.bytes_left() / 4 / kPairBytes);
  GARUDA_TRY_ASSIGN(auto join, compute::ResidentJoin::create(context, std::move(left), std::move(right), room, way));
  GARUDA_TRY(join.record(context));
  GARUDA_TRY_ASSIGN(auto const joined, join.finish(context));
  if (stats != nullptr) stats->add_counter("pairs_tested", joined.rows);
  Tested tested;
  GARUDA_TRY(test(context, sides, joinable, condition, joined, tested));
  auto const rows = tested.pairs + rows_of(tested.alone);
  if (result == nullptr) return rows;
  result->rows = rows;
  result->arena = column_arena(*result->device.open.device, rows * sides.result_row_bytes());
  GARUDA_TRY_ASSIGN(auto keys, take_column(*result, rows, sides.key_words));
  result->stored.push_back(std::move(keys));
  for (auto const side : {Side::left, Side::right})
    for (auto const& column : sides.of(side).rows().payload) {
      GARUDA_TRY_ASSIGN(auto stored, take_column(*result, rows, column.words));
      result->stored.push_back(std::move(stored));
    }
  if (tested.pairs > 0) {
    GARUDA_TRY(tested.left_pairs.record_rows(context, columns_of(sides, Side::left, joinable.left, *result), 0));
    GARUDA_TRY(tested.right_pairs.record_rows(context, columns_of(sides, Side::right, joinable.right, *result), 0));
  }
  GARUDA_TRY(write_rest(context, sides, tested.alone, tested.pairs, *result));
  return rows;
}

}  // namespace garuda::device
