// Columns of the result move, the others stay where they are.
#include "operators/device/device_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "keys/codes/key_types.hpp"
#include "operators/compute/join/match_estimate.hpp"
#include "operators/compute/join/resident_join.hpp"
#include "operators/compute/primitives/compute_lane.hpp"
#include "operators/compute/primitives/key_width.hpp"
#include "operators/compute/primitives/non_null_rows.hpp"
#include "operators/device/device_index.hpp"
#include "operators/device/device_result.hpp"
#include "operators/device/device_table.hpp"
#include "operators/materialize/column_words.hpp"
#include "operators/run/query_run.hpp"

namespace garuda::device {
namespace {

constexpr std::uint64_t kWordBytes = 4;
constexpr std::uint64_t kMostSideRows = std::uint64_t{1} << 31;
/// Columns of a result with room for so many times its rows are copied to columns that fit.
constexpr std::uint64_t kMostSlack = 2;
constexpr char const* kShrinkPhase = "shrink";

/// What one side sends along: each of its stored columns that the result needs, once.
class MovedSide {
 public:
  MovedSide(DeviceTableState const& table, std::size_t key) : table_(table), key_(key) {
    key_stored_ = table.columns[key].stored;
    if (table.columns[key].nulls)
      key_nulls_ = compute::NullFlags{at(*table.columns[key].nulls).address, table.columns[key].null_bit};
    rows_.rows = table.rows;
    rows_.keys = at(key_stored_);
  }

  void add(std::size_t column) {
    auto const& from = table_.columns[column];
    add_stored(from.stored);
    // A key that is null matches nothing, so the result's keys have no nulls.
    if (from.nulls && from.stored != key_stored_) add_stored(*from.nulls);
  }

  compute::DeviceRows const& rows() const noexcept { return rows_; }
  Field const& key_field() const { return table_.schema[key_]; }
  /// Of the key; nothing without nulls.
  std::optional<compute::NullFlags> const& key_nulls() const noexcept { return key_nulls_; }
  DeviceTableState const& table() const noexcept { return table_; }
  /// Stored columns in the order of the payload.
  std::vector<std::size_t> const& moved() const noexcept { return moved_; }
  /// Position among the payload; nothing for the key.
  std::optional<std::size_t> position(std::size_t stored) const {
    if (stored == key_stored_) return std::nullopt;
    return static_cast<std::size_t>(std::ranges::find(moved_, stored) - moved_.begin());
  }
  bool is_key(std::size_t column) const { return table_.columns[column].stored == key_stored_; }
  /// Of the keys, where one of so many words a key is kept.
  compute::KeyIndex const* index(std::uint32_t key_words) const {
    auto const* const kept = find_index(table_, table_.columns[key_]);
    return kept != nullptr && rows_.keys.words == key_words ? &kept->view : nullptr;
  }
  std::uint64_t payload_words() const noexcept {
    std::uint64_t words = 0;
    for (auto const& column : rows_.payload) words += column.words;
    return words;
  }

 private:
  compute::DeviceColumn at(std::size_t stored) const {
    auto const& column = table_.stored[stored];
    return {column.buffer.address(), column.words};
  }
  void add_stored(std::size_t stored) {
    if (stored == key_stored_ || std::ranges::find(moved_, stored) != moved_.end()) return;
    moved_.push_back(stored);
    rows_.payload.push_back(at(stored));
  }

  DeviceTableState const& table_;
  std::size_t key_;
  std::size_t key_stored_ = 0;
  std::optional<compute::NullFlags> key_nulls_;
  compute::DeviceRows rows_;
  std::vector<std::size_t> moved_;
};

struct MovedSides {
  MovedSide left;
  MovedSide right;
  std::uint32_t key_words = 1;  ///< in which keys are compared, and come out of the join
  /// Other widths in which the result has keys: columns behind the others.
  std::vector<std::uint32_t> key_widths;

  MovedSide& of(Side side) noexcept { return side == Side::left ? left : right; }
  MovedSide const& of(Side side) const noexcept { return side == Side::left ? left : right; }
  std::uint64_t result_row_bytes() const noexcept {
    std::uint64_t words = key_words + left.payload_words() + right.payload_words();
    for (auto const width : key_widths) words += width;
    return words * kWordBytes;
  }
  /// Position of the keys in so many words among the result's stored columns; adds the width when it is new.
  std::size_t key_position(std::uint32_t words) {
    if (words == key_words) return 0;
    auto const found = std::ranges::find(key_widths, words);
    auto const position = static_cast<std::size_t>(found - key_widths.begin());
    if (found == key_widths.end()) key_widths.push_back(words);
    return 1 + left.moved().size() + right.moved().size() + position;
  }
};

/// What the result needs of both tables. Errors: as join_device_tables.
Result<MovedSides> moved_sides(resolve::JoinRequest const& request) {
  auto const& columns = request.columns;
  auto const& left = *request.left.resident();
  auto const& right = *request.right.resident();
  for (auto const* side : {&left, &right})
    if (side->rows > kMostSideRows)
      return fail(ErrorCode::limit_exceeded,
                  fmt::format("a table joined on a device has at most 2^31 rows: {}", side->rows));
  GARUDA_TRY_ASSIGN(auto const key_type, device_key_type(left.schema, right.schema, columns));
  auto const& pair = columns.keys.front();
  MovedSides sides{{left, pair.left}, {right, pair.right}, device_key_words(key_type), {}};
  for (auto const& [side, column] : columns.output) sides.of(side).add(column);
  return sides;
}

/// Names, types and places of the result's columns: the key first, then the left side's payload, then the right's, then
/// the key in other widths.
void place_columns(MovedSides& sides, resolve::ResolvedJoin const& columns, DeviceTableState& result) {
  auto const place = [&](Side side, std::size_t stored) {
    auto const position = sides.of(side).position(stored);
    if (!position) return sides.key_position(sides.of(side).rows().keys.words);
    return 1 + *position + (side == Side::right ? sides.left.moved().size() : 0);
  };
  for (std::size_t i = 0; i < columns.output.size(); ++i) {
    auto const& [side, column] = columns.output[i];
    auto const& table = sides.of(side).table();
    auto field = table.schema[column];
    field.name = columns.names[i];
    result.schema.push_back(std::move(field));
    DeviceTableState::Column placed = table.columns[column];
    placed.stored = place(side, placed.stored);
    if (sides.of(side).is_key(column)) placed.nulls.reset();
    if (placed.nulls) placed.nulls = place(side, *placed.nulls);
    result.columns.push_back(placed);
  }
}

void keep(compute::OwnedResult owned, MovedSides const& sides, DeviceTableState& result) {
  result.rows = owned.rows;
  result.stored.push_back({std::move(owned.keys), sides.key_words});
  for (std::size_t i = 0; i < owned.left.size(); ++i)
    result.stored.push_back({std::move(owned.left[i]), sides.left.rows().payload[i].words});
  for (std::size_t i = 0; i < owned.right.size(); ++i)
    result.stored.push_back({std::move(owned.right[i]), sides.right.rows().payload[i].words});
}

/// The keys of the result in the other widths.
Result<void> add_key_widths(compute::ComputeContext& context, MovedSides const& sides, DeviceTableState& result) {
  if (sides.key_widths.empty()) return {};
  for (auto const words : sides.key_widths) {
    vk::BufferSpec spec;
    spec.bytes = std::max<std::uint64_t>(result.rows * words * kWordBytes, kWordBytes);
    spec.name = "joined keys";
    GARUDA_TRY_ASSIGN(auto buffer, result.arena->buffer(spec));
    compute::KeyResize resize;
    resize.source = {result.stored[0].buffer.address(), sides.key_words};
    resize.target = {buffer.address(), words};
    resize.rows = result.rows;
    GARUDA_TRY(compute::record_key_width(context, resize));
    result.stored.push_back({std::move(buffer), words});
  }
  return context.submissions().finish();
}

/// Copies the result to columns of its own size.
Result<void> shrink(compute::ComputeContext& context, DeviceTableState& result, std::uint64_t row_bytes) {
  auto arena = column_arena(*result.device.open.device, result.rows * row_bytes);
  std::vector<DeviceTableState::Stored> stored;
  GARUDA_TRY(context.order_all(kShrinkPhase));
  for (auto const& column : result.stored) {
    vk::BufferSpec spec;
    spec.bytes = std::max<std::uint64_t>(result.rows * column.words * kWordBytes, kWordBytes);
    spec.name = "joined column";
    GARUDA_TRY_ASSIGN(auto buffer, arena->buffer(spec));
    GARUDA_TRY_ASSIGN(auto* const recorder, context.submissions().record(kShrinkPhase));
    recorder->copy(column.buffer.view(0, spec.bytes), buffer.view());
    stored.push_back({std::move(buffer), column.words});
  }
  GARUDA_TRY(context.order_all(kShrinkPhase));
  GARUDA_TRY(context.submissions().finish());
  result.stored = std::move(stored);
  result.arena = std::move(arena);
  return {};
}

/// What a side is joined by, where that is not its own columns.
struct MatchableCopies {
  vk::Buffer keys;
  std::optional<compute::NonNullRows> rows;
};

/// The rows that may match, with keys of `key_words` words: without those whose key is null, or with the index that has
/// the others, if `in_index`. Errors: invalid_input for a key that does not fit.
Result<compute::DeviceRows> matchable(compute::ComputeContext& context, MovedSide const& side, std::uint32_t key_words,
                                      bool in_index, MatchableCopies& copies) {
  auto rows = side.rows();
  if (auto const* const index = in_index ? side.index(key_words) : nullptr) {
    rows.index = *index;
    if (index->rows == 0) rows.rows = 0;
    return rows;
  }
  if (rows.rows == 0) {
    rows.keys.words = key_words;
    return rows;
  }
  if (rows.keys.words != key_words) {
    GARUDA_TRY_ASSIGN(copies.keys, context.device_buffer(rows.rows * key_words * kWordBytes, "keys of one width"));
    compute::KeyResize resize{
        rows.keys, {copies.keys.address(), key_words}, rows.rows, materialize::is_signed(side.key_field().type.id)};
    if (rows.keys.words < key_words) {
      GARUDA_TRY(compute::record_key_width(context, resize));
    } else {
      GARUDA_TRY_ASSIGN(auto const wide_row, compute::cut_keys(context, resize, side.key_nulls()));
      if (wide_row) return keys::key_beyond_64_bits(side.key_field(), *wide_row);
    }
    rows.keys = resize.target;
  }
  if (!side.key_nulls()) return rows;
  GARUDA_TRY_ASSIGN(copies.rows, compute::NonNullRows::create(context, rows));
  return copies.rows->copy(context, rows, *side.key_nulls());
}

/// Rows that the result gets room for at first: a foreign key finds its primary key; more room is taken where rows
/// multiply.
std::uint64_t first_room(compute::ComputeContext const& context, compute::DeviceRows const& left,
                         compute::DeviceRows const& right, std::uint64_t expected_rows, std::uint64_t row_bytes) {
  auto const wanted = expected_rows != 0 ? expected_rows : std::max(left.rows, right.rows);
  return std::min(wanted, context.bytes_left() / 4 / row_bytes);
}

/// Joins what `sides` send; the result's columns become `result`'s.
Result<void> join_sides(compute::ComputeContext& context, MovedSides const& sides, std::uint64_t expected_rows,
                        compute::ResidentJoinWay const& way, DeviceTableState& result) {
  MatchableCopies left_copies;
  MatchableCopies right_copies;
  auto const is_looked_up = [&](Side side) { return way.method == JoinMethod::global && way.build == side; };
  GARUDA_TRY_ASSIGN(auto left, matchable(context, sides.left, sides.key_words, is_looked_up(Side::left), left_copies));
  GARUDA_TRY_ASSIGN(auto right,
                    matchable(context, sides.right, sides.key_words, is_looked_up(Side::right), right_copies));
  auto const row_bytes = sides.result_row_bytes();
  auto const room = first_room(context, left, right, expected_rows, row_bytes);
  result.arena = column_arena(*result.device.open.device, room * row_bytes);
  GARUDA_TRY_ASSIGN(auto join, compute::ResidentJoin::create(context, std::move(left), std::move(right), room, way,
                                                             result.arena.get()));
  GARUDA_TRY(join.record(context));
  GARUDA_TRY_ASSIGN(auto const joined, join.finish(context));
  auto owned = join.take(joined.rows);
  bool const is_roomy = owned.capacity / kMostSlack > owned.rows;
  keep(std::move(owned), sides, result);
  if (is_roomy) GARUDA_TRY(shrink(context, result, row_bytes));
  return add_key_widths(context, sides, result);
}

Result<std::unique_ptr<compute::ComputeLane>> open_lane(resolve::JoinRequest const& request,
                                                        contract::StatsSink* stats) {
  auto const& open = request.left.resident()->device.open;
  return compute::ComputeLane::open(*open.device, *open.pipelines, "", request.options.control, stats,
                                    request.options.device_memory_limit_bytes);
}

}  // namespace

Result<compute::ResidentJoinShape> resident_join_shape(resolve::JoinRequest const& request) {
  GARUDA_TRY_ASSIGN(auto const sides, moved_sides(request));
  compute::ResidentJoinShape shape;
  shape.left = compute::shape_of(sides.left.rows());
  shape.right = compute::shape_of(sides.right.rows());
  shape.left.has_index = sides.left.index(sides.key_words) != nullptr;
  shape.right.has_index = sides.right.index(sides.key_words) != nullptr;
  shape.key_bytes = static_cast<double>(sides.key_words * kWordBytes);
  shape.ordered = request.spec.ordered;
  return shape;
}

Result<double> sample_matches(resolve::JoinRequest const& request) {
  GARUDA_TRY_ASSIGN(auto const sides, moved_sides(request));
  GARUDA_TRY_ASSIGN(auto const lane, open_lane(request, nullptr));
  MatchableCopies left_copies;
  MatchableCopies right_copies;
  GARUDA_TRY_ASSIGN(auto left, matchable(lane->context(), sides.left, sides.key_words, false, left_copies));
  GARUDA_TRY_ASSIGN(auto right, matchable(lane->context(), sides.right, sides.key_words, false, right_copies));
  if (left.rows > right.rows) std::swap(left, right);
  return compute::estimate_matches(lane->context(), left, right);
}

Result<std::unique_ptr<JoinResult>> join_device_tables(resolve::JoinRequest const& request, Plan plan,
                                                       compute::ResidentJoinWay const& way) {
  auto run = std::make_unique<run::QueryRun>(request.options);
  GARUDA_TRY_ASSIGN(auto sides, moved_sides(request));
  auto result = std::make_unique<DeviceTableState>();
  result->device = request.left.resident()->device;
  place_columns(sides, request.columns, *result);
  {
    GARUDA_TRY_ASSIGN(auto const lane, open_lane(request, &run->recorder));
    GARUDA_TRY(join_sides(lane->context(), sides, request.options.expected_rows, way, *result));
  }
  RunStats inputs;
  inputs.rows_left = static_cast<std::uint64_t>(request.left.num_rows());
  inputs.rows_right = static_cast<std::uint64_t>(request.right.num_rows());
  DeviceResultOptions const options{"join", request.options.control, request.options.tuning.upload, plan.lanes, inputs};
  return std::make_unique<DeviceResult>(DeviceTable(std::move(result)), std::move(plan), options, std::move(run));
}

}  // namespace garuda::device
