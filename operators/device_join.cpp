// The join of tables that live on a device: columns of the result move, the others stay where they are.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "garuda/engine.hpp"
#include "operators/compute/compute_lane.hpp"
#include "operators/compute/match_estimate.hpp"
#include "operators/compute/non_null_rows.hpp"
#include "operators/compute/resident_join.hpp"
#include "operators/device_table.hpp"
#include "operators/resident_join_ways.hpp"
#include "operators/run_recorder.hpp"

namespace garuda::operators {
namespace {

constexpr std::uint64_t kWordBytes = 4;
constexpr std::uint64_t kMostSideRows = std::uint64_t{1} << 31;
/// Columns of a result with room for so many times its rows are copied to columns that fit.
constexpr std::uint64_t kMostSlack = 2;
constexpr char const* kShrinkPhase = "shrink";

Result<void> check_keys(DeviceTableState const& left, DeviceTableState const& right, ResolvedJoin const& columns) {
  auto const& left_type = left.schema[columns.left_key].type;
  auto const& right_type = right.schema[columns.right_key].type;
  if (left_type != right_type || !is_device_key(left_type.id)) {
    return fail(ErrorCode::invalid_input,
                fmt::format("keys of a join on a device are integers, dates, timestamps or decimals of at most 64 bits "
                            "and of the same type: {}, {}",
                            to_string(left_type), to_string(right_type)));
  }
  for (auto const* side : {&left, &right})
    if (side->rows > kMostSideRows)
      return fail(ErrorCode::limit_exceeded,
                  fmt::format("a table joined on a device has at most 2^31 rows: {}", side->rows));
  return {};
}

/// What one side sends along: each of its stored columns that the result needs, once.
class MovedSide {
 public:
  MovedSide(DeviceTableState const& table, std::size_t key) : table_(table) {
    key_stored_ = table.columns[key].stored;
    if (table.columns[key].nulls)
      key_nulls_ = NullFlags{at(*table.columns[key].nulls).address, table.columns[key].null_bit};
    rows_.rows = table.rows;
    rows_.keys = at(key_stored_);
  }

  void add(std::size_t column) {
    auto const& from = table_.columns[column];
    add_stored(from.stored);
    // A key that is null matches nothing, so the result's keys have no nulls.
    if (from.nulls && from.stored != key_stored_) add_stored(*from.nulls);
  }

  DeviceRows const& rows() const noexcept { return rows_; }
  /// Of the key; nothing without nulls.
  std::optional<NullFlags> const& key_nulls() const noexcept { return key_nulls_; }
  DeviceTableState const& table() const noexcept { return table_; }
  /// Stored columns in the order of the payload.
  std::vector<std::size_t> const& moved() const noexcept { return moved_; }
  /// Position among the payload; nothing for the key.
  std::optional<std::size_t> position(std::size_t stored) const {
    if (stored == key_stored_) return std::nullopt;
    return static_cast<std::size_t>(std::ranges::find(moved_, stored) - moved_.begin());
  }
  bool is_key(std::size_t column) const { return table_.columns[column].stored == key_stored_; }
  std::uint64_t payload_words() const noexcept {
    std::uint64_t words = 0;
    for (auto const& column : rows_.payload) words += column.words;
    return words;
  }

 private:
  DeviceColumn at(std::size_t stored) const {
    auto const& column = table_.stored[stored];
    return {column.buffer.address(), column.words};
  }
  void add_stored(std::size_t stored) {
    if (stored == key_stored_ || std::ranges::find(moved_, stored) != moved_.end()) return;
    moved_.push_back(stored);
    rows_.payload.push_back(at(stored));
  }

  DeviceTableState const& table_;
  std::size_t key_stored_ = 0;
  std::optional<NullFlags> key_nulls_;
  DeviceRows rows_;
  std::vector<std::size_t> moved_;
};

struct MovedSides {
  MovedSide left;
  MovedSide right;

  MovedSide& of(Side side) noexcept { return side == Side::left ? left : right; }
  MovedSide const& of(Side side) const noexcept { return side == Side::left ? left : right; }
  std::uint64_t result_row_bytes() const noexcept {
    return (left.rows().keys.words + left.payload_words() + right.payload_words()) * kWordBytes;
  }
};

/// Names, types and places of the result's columns: the key first, then the left side's payload, then the right's.
void place_columns(MovedSides const& sides, ResolvedJoin const& columns, DeviceTableState& result) {
  auto const place = [&](Side side, std::size_t stored) {
    auto const position = sides.of(side).position(stored);
    if (!position) return std::size_t{0};
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

void keep(OwnedResult owned, MovedSides const& sides, DeviceTableState& result) {
  result.rows = owned.rows;
  result.stored.push_back({std::move(owned.keys), sides.left.rows().keys.words});
  for (std::size_t i = 0; i < owned.left.size(); ++i)
    result.stored.push_back({std::move(owned.left[i]), sides.left.rows().payload[i].words});
  for (std::size_t i = 0; i < owned.right.size(); ++i)
    result.stored.push_back({std::move(owned.right[i]), sides.right.rows().payload[i].words});
}

/// Copies the result to columns of its own size.
Result<void> shrink(ComputeContext& context, DeviceTableState& result, std::uint64_t row_bytes) {
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

/// The rows that may match: without those whose key is null. `copies` owns them.
Result<DeviceRows> matchable(ComputeContext& context, MovedSide const& side, std::optional<NonNullRows>& copies) {
  auto const& rows = side.rows();
  if (!side.key_nulls() || rows.rows == 0) return rows;
  GARUDA_TRY_ASSIGN(copies, NonNullRows::create(context, rows));
  return copies->copy(context, rows, *side.key_nulls());
}

/// Chooses the way; looks at the keys only where it depends on how many rows match.
Result<ResidentJoinWay> choose_way(ComputeContext& context, DeviceRows const& left, DeviceRows const& right,
                                   ResidentJoinRequest const& request) {
  ResidentJoinShape shape;
  shape.left = shape_of(left);
  shape.right = shape_of(right);
  shape.key_bytes = static_cast<double>(left.keys.words * kWordBytes);
  shape.ordered = request.ordered;
  auto const choose = [&](double matches) {
    shape.matches = matches;
    return choose_resident_join(shape, request.rates, context.tuning());
  };
  if (request.options.expected_rows != 0) return choose(static_cast<double>(request.options.expected_rows));
  GARUDA_TRY_ASSIGN(auto const of_none, choose(0));
  GARUDA_TRY_ASSIGN(auto const of_all, choose(std::max(shape.left.rows, shape.right.rows)));
  if (of_none == of_all) return of_all;
  bool const left_is_smaller = left.rows <= right.rows;
  GARUDA_TRY_ASSIGN(auto const matches,
                    estimate_matches(context, left_is_smaller ? left : right, left_is_smaller ? right : left));
  return choose(matches);
}

/// Rows that the result gets room for at first: a foreign key finds its primary key; more room is taken where rows
/// multiply.
std::uint64_t first_room(ComputeContext const& context, DeviceRows const& left, DeviceRows const& right,
                         std::uint64_t expected_rows, std::uint64_t row_bytes) {
  auto const wanted = expected_rows != 0 ? expected_rows : std::max(left.rows, right.rows);
  return std::min(wanted, context.bytes_left() / 4 / row_bytes);
}

/// Joins what `sides` send; the result's columns become `result`'s.
Result<std::string> join_sides(ComputeContext& context, MovedSides const& sides, ResidentJoinRequest const& request,
                               DeviceTableState& result) {
  std::optional<NonNullRows> left_copies;
  std::optional<NonNullRows> right_copies;
  GARUDA_TRY_ASSIGN(auto left, matchable(context, sides.left, left_copies));
  GARUDA_TRY_ASSIGN(auto right, matchable(context, sides.right, right_copies));
  GARUDA_TRY_ASSIGN(auto const way, choose_way(context, left, right, request));
  auto const row_bytes = sides.result_row_bytes();
  auto const room = first_room(context, left, right, request.options.expected_rows, row_bytes);
  result.arena = column_arena(*result.device.open.device, room * row_bytes);
  GARUDA_TRY_ASSIGN(auto join,
                    ResidentJoin::create(context, std::move(left), std::move(right), room, way, result.arena.get()));
  GARUDA_TRY(join.record(context));
  GARUDA_TRY_ASSIGN(auto const joined, join.finish(context));
  auto owned = join.take(joined.rows);
  bool const is_roomy = owned.capacity / kMostSlack > owned.rows;
  keep(std::move(owned), sides, result);
  if (is_roomy) GARUDA_TRY(shrink(context, result, row_bytes));
  return to_string(way);
}

}  // namespace

Result<DeviceJoin> join_device_tables(DeviceTable const& left, DeviceTable const& right, ResolvedJoin const& columns,
                                      ResidentJoinRequest const& request) {
  auto const start = std::chrono::steady_clock::now();
  GARUDA_TRY(check_keys(left.state(), right.state(), columns));
  MovedSides sides{{left.state(), columns.left_key}, {right.state(), columns.right_key}};
  for (auto const& [side, column] : columns.output) sides.of(side).add(column);

  RunRecorder recorder;
  auto const& device = left.state().device;
  auto result = std::make_unique<DeviceTableState>();
  result->device = device;
  place_columns(sides, columns, *result);
  std::string way;
  {
    GARUDA_TRY_ASSIGN(auto const lane, ComputeLane::open(*device.open.device, *device.open.pipelines,
                                                         request.options.tuning, request.options.control, &recorder));
    GARUDA_TRY_ASSIGN(way, join_sides(lane->context(), sides, request, *result));
  }
  auto stats = recorder.stats_since(start);
  stats.path = Path::compute;
  stats.device = device.info->name;
  stats.driver = device.info->driver;
  stats.rows_left = left.num_rows();
  stats.rows_right = right.num_rows();
  stats.rows_out = result->rows;
  return DeviceJoin{DeviceTable(std::move(result)), std::move(stats), std::move(way)};
}

}  // namespace garuda::operators
