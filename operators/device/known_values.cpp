#include "operators/device/known_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/type_rows.hpp"
#include "keys/codes/key_types.hpp"
#include "operators/compute/group_by/device_values.hpp"
#include "operators/compute/join/indexed_join.hpp"
#include "operators/compute/join/key_bitmap.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/primitives/late_gather.hpp"
#include "operators/device/device_types.hpp"

namespace garuda::device {
namespace {

using compute::DeviceValueKind;

/// Whose values are compared by their words; nothing else has a range here.
std::optional<DeviceValueKind> integer_kind(DataType const& type) {
  auto const kind = device_value_kind(type);
  if (!kind || compute::is_float(*kind) || !compute::has_order(*kind)) return std::nullopt;
  return kind;
}

std::optional<DeviceValueKind> ordered_kind(DataType const& type) {
  auto const kind = device_key_kind(type);
  return kind && compute::has_order(*kind) ? kind : std::nullopt;
}

Result<compute::ValueRange> read_range(DeviceTableState const& table, compute::DeviceValues const& values,
                                       Control const& control) {
  GARUDA_TRY_ASSIGN(auto const lane, compute::ComputeLane::open(table.device.open, control));
  GARUDA_TRY_ASSIGN(auto scan, compute::ColumnScan::create(lane->context(), {values}, table.rows));
  GARUDA_TRY_ASSIGN(auto const ranges, scan.run(lane->context()));
  return ranges.front();
}

compute::KeyRange key_range_of(DeviceValueKind kind, compute::ValueRange const& range) {
  if (!range.has_values) return compute::KeyRange{};
  return compute::KeyRange{range.min - image_offset(kind), range.max - range.min};
}

/// Facts of a column whose values have a range. Called with the mutex locked.
Result<DeviceTableState::Values*> known_values(DeviceTableState const& table, std::size_t column, DeviceValueKind kind,
                                               Control const& control) {
  auto const& from = table.columns[column];
  auto& list = table.known.list;
  auto const known = std::ranges::find(list, from, &DeviceTableState::Values::column);
  if (known != list.end()) return &*known;
  GARUDA_TRY_ASSIGN(auto const range, read_range(table, table.values(column, kind), control));
  return &list.emplace_back(DeviceTableState::Values{from, range});
}

constexpr char const* kPhase = "index";
constexpr std::uint64_t kMostRows = std::uint64_t{1} << 31;

Result<std::size_t> indexed_column(DeviceTableState const& table, std::string const& name) {
  auto const found = std::ranges::find(table.schema, name, &Field::name);
  if (found == table.schema.end())
    return fail(ErrorCode::invalid_input, fmt::format("the table has no column '{}' to index", name));
  auto const words = device_words(found->type).value_or(0);
  if (!keys::extends_to(found->type, found->type) || words == 0 || words > 2)
    return fail(
        ErrorCode::invalid_input,
        fmt::format("an index is of a column of integers, dates, times or decimals of up to 64 bits: '{}' is {}", name,
                    to_string(found->type)));
  if (table.rows > kMostRows)
    return fail(ErrorCode::limit_exceeded, fmt::format("an index has at most 2^31 rows: {}", table.rows));
  return static_cast<std::size_t>(found - table.schema.begin());
}

/// A copy of a buffer that lives as long as the arena.
Result<vk::Buffer> keep(compute::ComputeContext& context, vk::MemoryArena& arena, vk::Buffer const& from,
                        std::uint64_t bytes) {
  vk::BufferSpec spec;
  spec.bytes = bytes;
  spec.name = "kept index";
  GARUDA_TRY_ASSIGN(auto buffer, arena.buffer(spec));
  GARUDA_TRY_ASSIGN(auto* const recorder, context.submissions().record(kPhase));
  recorder->copy(from.view(0, bytes), buffer.view());
  return buffer;
}

/// Sorts the keys of `rows`, whose numbers move with them, and keeps what comes out.
Result<void> index_rows(compute::ComputeContext& context, compute::DeviceRows rows, DeviceTableState::Index& index) {
  GARUDA_TRY_ASSIGN(auto search, compute::KeyBoundsSearch::create(context));
  GARUDA_TRY_ASSIGN(auto const bounds, search.find(context, kPhase, rows.keys, rows.rows));
  GARUDA_TRY_ASSIGN(auto side, compute::IndexedSide::create(context, std::move(rows), bounds));
  GARUDA_TRY(side.record(context));
  GARUDA_TRY(context.order_all(kPhase));
  index.view = side.index();
  auto const row_bytes = index.view.rows * sizeof(std::uint32_t);
  auto const entry_bytes = index.view.num_entries() * sizeof(std::uint32_t);
  GARUDA_TRY_ASSIGN(index.keys, keep(context, *index.arena, side.sorted().keys(), row_bytes * index.view.key_words));
  GARUDA_TRY_ASSIGN(index.numbers, keep(context, *index.arena, side.sorted().numbers(), row_bytes));
  GARUDA_TRY_ASSIGN(index.entries, keep(context, *index.arena, side.entries(), entry_bytes));
  GARUDA_TRY(context.order_all(kPhase));
  GARUDA_TRY(context.submissions().finish());
  index.view.keys = index.keys.address();
  index.view.numbers = index.numbers.address();
  index.view.entries = index.entries.address();
  return {};
}

}  // namespace

Result<std::optional<compute::ValueRange>> image_range(DeviceTableState const& table, std::size_t column,
                                                       Control const& control) {
  auto const kind = ordered_kind(table.schema[column].type);
  if (!kind) return std::nullopt;
  if (table.rows == 0) return compute::ValueRange{};
  std::lock_guard const lock(table.known.mutex);
  GARUDA_TRY_ASSIGN(auto const* const known, known_values(table, column, *kind, control));
  return known->range;
}

Result<std::optional<compute::KeyRange>> value_range(DeviceTableState const& table, std::size_t column,
                                                     Control const& control) {
  auto const kind = integer_kind(table.schema[column].type);
  if (!kind) return std::nullopt;
  if (table.rows == 0) return compute::KeyRange{};
  std::lock_guard const lock(table.known.mutex);
  GARUDA_TRY_ASSIGN(auto const* const known, known_values(table, column, *kind, control));
  return key_range_of(*kind, known->range);
}

Result<bool> has_unique_values(DeviceTableState const& table, std::size_t column, Control const& control) {
  auto const kind = integer_kind(table.schema[column].type);
  GARUDA_EXPECTS(kind);
  if (table.rows == 0) return true;
  std::lock_guard const lock(table.known.mutex);
  GARUDA_TRY_ASSIGN(auto* const known, known_values(table, column, *kind, control));
  if (known->are_unique) return *known->are_unique;
  compute::BitmapRows const rows{table.rows, table.words(column), table.nulls(column)};
  GARUDA_TRY_ASSIGN(auto const lane, compute::ComputeLane::open(table.device.open, control));
  GARUDA_TRY_ASSIGN(auto bitmap, compute::KeyBitmap::create(lane->context(), key_range_of(*kind, known->range), false));
  GARUDA_TRY_ASSIGN(known->are_unique, bitmap.set_unique_keys(lane->context(), rows));
  return *known->are_unique;
}

Result<compute::WideRange> number_range(DeviceTableState const& table, std::size_t column, Control const& control) {
  if (table.rows == 0) return compute::WideRange{};
  if (table.words(column).words <= 2) {
    GARUDA_TRY_ASSIGN(auto const range, value_range(table, column, control));
    bool const is_signed = type_row(table.schema[column].type.id).is_signed;
    auto const number_of = [&](std::uint64_t value) {
      return keys::load_number(reinterpret_cast<std::byte const*>(&value), sizeof(value), is_signed);
    };
    if (!range) return compute::WideRange{};
    return compute::WideRange{true, number_of(range->least), number_of(range->least + range->span)};
  }
  std::lock_guard const lock(table.known.mutex);
  auto& list = table.known.list;
  auto const known = std::ranges::find(list, table.columns[column], &DeviceTableState::Values::column);
  if (known != list.end()) return known->wide.value();
  GARUDA_TRY_ASSIGN(auto const lane, compute::ComputeLane::open(table.device.open, control));
  auto const values = table.values(column, DeviceValueKind::bits);
  GARUDA_TRY_ASSIGN(auto const range, compute::find_wide_range(lane->context(), values, table.rows));
  list.push_back({table.columns[column], {}, std::nullopt, range});
  return range;
}

Result<bool> has_wide_values(DeviceTableState const& table, std::size_t column, Control const& control) {
  GARUDA_TRY_ASSIGN(auto const range, number_range(table, column, control));
  return !keys::fits(range.min, sizeof(std::uint64_t)) || !keys::fits(range.max, sizeof(std::uint64_t));
}

bool is_known_unique(DeviceTableState const& table, std::size_t column) {
  std::lock_guard const lock(table.known.mutex);
  auto const known = std::ranges::find(table.known.list, table.columns[column], &DeviceTableState::Values::column);
  return known != table.known.list.end() && known->are_unique.value_or(false);
}

Result<void> build_index(DeviceTableState& table, std::string const& name, Control const& control) {
  GARUDA_TRY_ASSIGN(auto const position, indexed_column(table, name));
  auto const& column = table.columns[position];
  if (find_index(table, column) != nullptr) return {};
  auto const words = table.words(position);
  auto const& open = table.device.open;
  GARUDA_TRY_ASSIGN(auto const lane, compute::ComputeLane::open(open, control));
  auto& context = lane->context();
  DeviceTableState::Index index;
  index.column = column;
  index.arena = column_arena(*open.device, table.rows * (words.words + 3) * sizeof(std::uint32_t));
  compute::DeviceRows rows{table.rows, words, {}, true};
  std::optional<compute::NonNullRows> with_keys;
  if (auto const nulls = table.nulls(position); nulls && table.rows > 0) {
    GARUDA_TRY_ASSIGN(with_keys, compute::NonNullRows::create(context, rows));
    GARUDA_TRY_ASSIGN(rows, with_keys->copy(context, rows, *nulls));
  }
  if (rows.rows > 0) GARUDA_TRY(index_rows(context, std::move(rows), index));
  table.indexes.push_back(std::move(index));
  return {};
}

DeviceTableState::Index const* find_index(DeviceTableState const& table, DeviceTableState::Column const& column) {
  auto const found = std::ranges::find(table.indexes, column, &DeviceTableState::Index::column);
  return found == table.indexes.end() ? nullptr : &*found;
}

}  // namespace garuda::device
