#include "operators/device/join/moved_sides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "expr/sides.hpp"
#include "operators/device/known_values.hpp"
#include "operators/materialize/column_words.hpp"

namespace garuda::device {
namespace {

constexpr std::uint64_t kMostSideRows = std::uint64_t{1} << 31;
constexpr std::uint32_t kAllNull = 0xffffffff;

using Kind = AddedColumn::Kind;

Kind absence_of(Side side) { return side == Side::left ? Kind::left_absent : Kind::right_absent; }

/// Where a result's column of `side` says that its values are null.
void place_nulls(MovedSides& sides, resolve::OutputColumn const& output, DeviceTableState::Column& placed) {
  auto const& side = sides.of(output.side);
  if (placed.nulls && (!side.is_key(output.column) || sides.keeps_null_keys(output.side))) {
    placed.nulls = sides.first_of(output.side) + *side.position(*placed.nulls);
    return;
  }
  placed.nulls.reset();
  placed.null_bit = 0;
  if (sides.may_lack(output.side)) placed.nulls = sides.position({absence_of(output.side)});
}

/// Places the nulls of a key of both sides: the left one's, or the right one's alone.
void place_key_nulls(MovedSides const& sides, std::size_t key, DeviceTableState::Column& placed) {
  placed.nulls.reset();
  placed.null_bit = 0;
  if (sides.composed) {
    auto const nulls = sides.left.key_nulls_position();
    if (!nulls) return;
    placed.nulls = sides.first_of(Side::left) + *nulls;
    placed.null_bit = static_cast<std::uint32_t>(key);
    return;
  }
  for (auto const side : {Side::right, Side::left}) {
    auto const& own = sides.of(side);
    if (!own.key_nulls_position()) continue;
    placed.nulls = sides.first_of(side) + *own.key_nulls_position();
    placed.null_bit = own.key_nulls()->bit;
  }
}

/// Whether keys take more than the 64 bits that words of one column are compared in. Of outlines that is not known.
Result<bool> has_wide_keys(JoinedTables const& tables, Side side, std::size_t key, Control const& control) {
  bool const may_be_wide = tables.are_there() && tables.of(side).words(key).words > 2;
  return may_be_wide ? has_wide_values(tables.of(side), key, control) : Result<bool>(false);
}

/// Sends key columns of both sides along, with their nulls; those of the right side only where its
/// unmatched rows are in the result.
void add_shared(MovedSides& sides, resolve::ResolvedJoin const& columns, std::vector<std::size_t> const& shared) {
  if (shared.empty()) return;
  bool const has_nulls = sides.composed->has_nulls(Side::left) || sides.composed->has_nulls(Side::right);
  for (auto const side : {Side::left, Side::right}) {
    if (side == Side::right && columns.parts.right == contract::SideRows::none) continue;
    for (auto const key : shared)
      sides.of(side).add_key_values(key, stored_words(columns.shared_key_type(key)).value_or(1));
    if (has_nulls) sides.of(side).add_key_nulls();
  }
}

constexpr char const* kFlagsPhase = "absent sides";

/// The side that a column says is absent; nothing of other columns.
std::optional<Side> absent_side(AddedColumn const& column) {
  if (column.kind == AddedColumn::Kind::left_absent) return Side::left;
  return column.kind == AddedColumn::Kind::right_absent ? std::optional(Side::right) : std::nullopt;
}

/// The columns behind key and payload, without a value but for words that say that no side is absent. Where no row
/// lacks a side, there are no such words, and no nulls.
Result<void> take_added(compute::ComputeContext& context, MovedSides const& sides, std::span<UnmatchedPart const> parts,
                        DeviceTableState& result) {
  for (auto const& column : sides.added) {
    auto const absent = absent_side(column);
    auto const lacks = [&](UnmatchedPart const& part) { return part.side != *absent && part.rows > 0; };
    if (absent && std::ranges::none_of(parts, lacks)) {
      for (auto& shown : result.columns)
        if (shown.nulls == result.stored.size()) shown.nulls.reset();
      result.stored.push_back({{}, column.words});
      continue;
    }
    GARUDA_TRY_ASSIGN(auto stored, take_column(result, column.words));
    if (absent) GARUDA_TRY(context.fill(kFlagsPhase, stored.buffer, 0));
    result.stored.push_back(std::move(stored));
  }
  return {};
}

}  // namespace

MovedSide::MovedSide(DeviceTableState const& table, std::vector<std::size_t> keys, bool are_composed)
    : table_(table), keys_(std::move(keys)), are_composed_(are_composed) {
  rows_.rows = table.rows;
  if (are_composed) return;
  key_nulls_ = table.nulls(key_column());
  rows_.keys = table.words(key_column());
}

compute::DeviceColumn MovedSide::at(std::size_t stored) const {
  auto const& column = table_.stored[stored];
  return {column.buffer.address(), column.words};
}

void MovedSide::add(std::size_t column, bool keeps_key_nulls) {
  auto const& from = table_.columns[column];
  // Null keys come out of the join with a value, which another column of the same values does not have.
  bool const is_key_values = !are_composed_ && from.stored == key().stored && (is_key(column) || !keeps_key_nulls) &&
                             table_.schema[column].type.id != TypeId::dictionary;
  if (!is_key_values) add_stored(from.stored, false);
  if (from.nulls && (!is_key(column) || keeps_key_nulls)) add_stored(*from.nulls, true);
}

void MovedSide::add_stored(std::size_t stored, bool is_nulls) {
  if (position(stored)) return;
  moved_.push_back({stored, is_nulls});
  rows_.payload.push_back(at(stored));
}

void MovedSide::add_key_nulls() {
  moved_.push_back({std::nullopt, true});
  rows_.payload.push_back({are_composed_ ? 0 : key_nulls_->words, 1});
}

void MovedSide::add_key_values(std::size_t key, std::uint32_t words) {
  moved_.push_back({std::nullopt, false, key});
  rows_.payload.push_back({0, words});
}

std::optional<std::size_t> MovedSide::find(Moved const& moved) const {
  auto const found = std::ranges::find(moved_, moved);
  if (found == moved_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - moved_.begin());
}

std::optional<std::size_t> MovedSide::position(std::size_t stored) const {
  auto const found = std::ranges::find(moved_, std::optional(stored), &Moved::stored);
  if (found == moved_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - moved_.begin());
}

std::optional<std::size_t> MovedSide::key_nulls_position() const { return find({std::nullopt, true}); }

std::optional<std::size_t> MovedSide::key_values_position(std::size_t key) const {
  return find({std::nullopt, false, key});
}

bool MovedSide::is_key(std::size_t column) const {
  return std::ranges::any_of(keys_, [&](std::size_t key) { return table_.columns[key] == table_.columns[column]; });
}

compute::KeyIndex const* MovedSide::index(std::uint32_t key_words) const {
  if (are_composed_) return nullptr;
  auto const* const kept = find_index(table_, key());
  return kept != nullptr && rows_.keys.words == key_words ? &kept->view : nullptr;
}

std::uint64_t MovedSide::payload_words() const noexcept {
  std::uint64_t words = 0;
  for (auto const& column : rows_.payload) words += column.words;
  return words;
}

std::size_t MovedSides::position(AddedColumn const& column) {
  auto const found = std::ranges::find(added, column);
  auto const at = static_cast<std::size_t>(found - added.begin());
  if (found == added.end()) added.push_back(column);
  return first_added() + at;
}

std::uint64_t MovedSides::result_row_bytes() const noexcept {
  std::uint64_t words = key_words + left.payload_words() + right.payload_words();
  for (auto const& column : added) words += column.words;
  return words * materialize::kWordBytes;
}

Result<MovedSides> moved_sides(resolve::JoinRequest const& request, bool counts) {
  auto const& columns = request.columns;
  JoinedTables const tables(request);
  auto const& left = tables.of(Side::left);
  auto const& right = tables.of(Side::right);
  for (auto const side : kSides)
    if (auto const rows = tables.of(side).rows; rows > kMostSideRows)
      return fail(ErrorCode::limit_exceeded, fmt::format("a table joined on a device has at most 2^31 rows: {}", rows));
  auto const key_type = stored_key_type(left.schema, right.schema, columns);
  bool is_composed = !key_type;
  for (auto const side : kSides)
    if (!is_composed) {
      GARUDA_TRY_ASSIGN(is_composed,
                        has_wide_keys(tables, side, columns.keys.front().of(side), request.options.control));
    }
  MovedSides sides{{left, columns.key_columns(Side::left), is_composed},
                   {right, columns.key_columns(Side::right), is_composed},
                   columns.parts};
  if (is_composed) {
    GARUDA_TRY_ASSIGN(sides.composed, compose_keys(request));
    sides.key_words = sides.composed->words();
    for (auto const side : {Side::left, Side::right}) sides.of(side).compare_in(sides.key_words);
  } else {
    sides.key_words = device_key_words(*key_type);
    if (auto const& strings = sides.left.key().strings) {
      GARUDA_TRY_ASSIGN(sides.key_strings, strings_of_both(strings, sides.right.key().strings));
    }
    sides.nulls_equal = request.spec.nulls_equal && sides.left.key_nulls() && sides.right.key_nulls();
  }
  bool const mixes_left = columns.parts.pairs && columns.parts.left != contract::SideRows::none;
  sides.by_pairs = columns.condition.has_value() || (!counts && request.spec.ordered && mixes_left);
  if (counts) return sides;
  std::vector<std::size_t> shared;
  for (auto const& output : columns.output) {
    // The nulls of a key of both sides go by themselves.
    auto const key = columns.shared_key(output);
    if (key) shared.push_back(*key);
    if (!key) sides.of(output.side).add(output.column, sides.keeps_null_keys(output.side));
  }
  if (is_composed) {
    add_shared(sides, columns, shared);
    return sides;
  }
  for (auto const side : {Side::left, Side::right})
    if (!shared.empty() && sides.keeps_null_keys(side) && sides.of(side).key_nulls()) sides.of(side).add_key_nulls();
  return sides;
}

void place_columns(MovedSides& sides, resolve::JoinRequest const& request, DeviceTableState& result) {
  auto const& columns = request.columns;
  for (std::size_t i = 0; i < columns.output.size(); ++i) {
    auto const& output = columns.output[i];
    auto const& side = sides.of(output.side);
    auto field = side.table().schema[output.column];
    field.name = columns.names[i];
    field.nullable = field.nullable || sides.may_lack(output.side);
    auto placed = side.table().columns[output.column];
    auto const moved = side.position(placed.stored);
    if (auto const key = columns.shared_key(output)) {
      field.type = columns.shared_key_type(*key);
      auto const own = sides.left.key_values_position(*key);
      placed.stored =
          own ? sides.first_of(Side::left) + *own : sides.key_position(stored_words(field.type).value_or(1));
      placed.strings = sides.composed ? sides.composed->parts[*key].strings : sides.key_strings;
      place_key_nulls(sides, *key, placed);
    } else {
      placed.stored = moved ? sides.first_of(output.side) + *moved : sides.key_position(side.rows().keys.words);
      if (!moved) placed.strings = sides.key_strings;
      place_nulls(sides, output, placed);
    }
    result.schema.push_back(std::move(field));
    result.columns.push_back(placed);
  }
  if (!columns.has_mark) return;
  result.schema.push_back({columns.names.back(), {.id = TypeId::boolean}, false});
  result.columns.push_back({sides.position({Kind::mark}), std::nullopt, 0});
}

std::vector<shaders::UnmatchedColumn> unmatched_columns(MovedSides const& sides, Side side,
                                                        compute::MarkedRows const& rows,
                                                        std::vector<DeviceTableState::Stored> const& targets) {
  std::vector<shaders::UnmatchedColumn> columns;
  auto const add = [&](std::size_t target, std::uint32_t operation) -> shaders::UnmatchedColumn& {
    auto const& stored = targets[target];
    return columns.emplace_back(
        shaders::UnmatchedColumn{0, stored.buffer.address(), stored.words, operation, 0, 0, 0, 0});
  };
  auto const copy = [&](std::size_t target, VkDeviceAddress source, bool by_number) -> shaders::UnmatchedColumn& {
    auto& column = add(target, shaders::kUnmatchedCopy);
    column.source = source;
    column.by_number = by_number ? 1 : 0;
    return column;
  };
  bool const by_number = rows.numbers != 0;
  auto const& own = sides.of(side);
  auto const& other = sides.of(other_side(side));
  auto const first_of_other = sides.first_of(other_side(side));
  copy(0, rows.keys.address, false);
  for (std::size_t i = 0; i < own.num_moved(); ++i) copy(sides.first_of(side) + i, rows.payload[i].address, by_number);
  for (std::size_t i = 0; i < other.num_moved(); ++i) {
    auto const key = other.key_of(i);
    if (auto const values = key ? own.key_values_position(*key) : std::nullopt) {
      copy(first_of_other + i, rows.payload[*values].address, by_number);
    } else if (!other.is_key_nulls(i)) {
      add(first_of_other + i, shaders::kUnmatchedFill).value = other.is_null_words(i) ? kAllNull : 0;
    } else if (auto const nulls = own.key_nulls_position(); nulls && sides.composed) {
      copy(first_of_other + i, rows.payload[*nulls].address, by_number);
    } else if (nulls) {
      // A key of both sides says by the other side's bit that this side's is null.
      auto& bit = copy(first_of_other + i, rows.payload[*nulls].address, by_number);
      bit.operation = shaders::kUnmatchedBit;
      bit.value = own.key_nulls()->bit;
      bit.to_bit = other.key_nulls()->bit;
    } else {
      add(first_of_other + i, shaders::kUnmatchedFill).value = 0;
    }
  }
  for (std::size_t i = 0; i < sides.added.size(); ++i) {
    auto const at = sides.first_added() + i;
    auto const kind = sides.added[i].kind;
    if (kind == Kind::mark) add(at, shaders::kUnmatchedMark);
    // Elsewhere such words are 0.
    if (kind == absence_of(other_side(side))) add(at, shaders::kUnmatchedFill).value = 1;
  }
  return columns;
}

Result<std::vector<UnmatchedPart>> find_unmatched(compute::ComputeContext& context, contract::JoinParts const& parts,
                                                  std::vector<std::pair<Side, compute::MarkedRows>> sides) {
  std::vector<UnmatchedPart> found;
  for (auto& [side, marked] : sides) {
    GARUDA_TRY_ASSIGN(auto unmatched, compute::UnmatchedRows::create(context, std::move(marked), parts.rows(side)));
    GARUDA_TRY(unmatched.record_count(context));
    found.push_back({side, std::move(unmatched)});
  }
  for (auto& part : found) {
    GARUDA_TRY_ASSIGN(part.rows, part.unmatched.count(context));
  }
  return found;
}

std::uint64_t rows_of(std::span<UnmatchedPart const> parts) {
  std::uint64_t rows = 0;
  for (auto const& part : parts) rows += part.rows;
  return rows;
}

Result<void> take_moved(MovedSides const& sides, std::uint64_t rows, DeviceTableState& result) {
  result.rows = rows;
  result.arena = column_arena(*result.device.open.device, rows * sides.result_row_bytes());
  std::vector<std::uint32_t> words{sides.key_words};
  for (auto const side : kSides)
    for (auto const& column : sides.of(side).rows().payload) words.push_back(column.words);
  for (auto const column_words : words) {
    GARUDA_TRY_ASSIGN(auto stored, take_column(result, column_words));
    result.stored.push_back(std::move(stored));
  }
  return {};
}

Result<void> write_rest(compute::ComputeContext& context, MovedSides const& sides, std::span<UnmatchedPart> parts,
                        std::uint64_t first, DeviceTableState& result) {
  GARUDA_TRY(take_added(context, sides, parts, result));
  for (auto& part : parts) {
    auto const columns = unmatched_columns(sides, part.side, part.unmatched.marked(), result.stored);
    if (part.rows > 0)
      GARUDA_TRY(part.unmatched.record_rows(context, columns, part.places != 0 ? 0 : first, part.places));
    first += part.rows;
  }
  for (std::size_t i = 0; i < sides.added.size(); ++i) {
    if (sides.added[i].kind != AddedColumn::Kind::keys) continue;
    auto const& stored = result.stored[sides.first_added() + i];
    compute::KeyResize resize;
    resize.source = {result.stored[0].buffer.address(), sides.key_words};
    resize.target = {stored.buffer.address(), stored.words};
    resize.rows = result.rows;
    if (result.rows > 0) GARUDA_TRY(compute::record_key_width(context, resize));
  }
  return context.submissions().finish();
}

}  // namespace garuda::device
