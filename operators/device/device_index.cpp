#include "operators/device/device_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/type_rows.hpp"
#include "keys/codes/key_types.hpp"
#include "operators/compute/join/indexed_side.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/primitives/non_null_rows.hpp"

namespace garuda::device {
namespace {

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

Result<void> build_index(DeviceTableState& table, std::string const& name, Control const& control) {
  GARUDA_TRY_ASSIGN(auto const position, indexed_column(table, name));
  auto const& column = table.columns[position];
  if (find_index(table, column) != nullptr) return {};
  auto const words = table.words(position);
  auto const& open = table.device.open;
  GARUDA_TRY_ASSIGN(auto const lane, compute::ComputeLane::open(*open.device, *open.pipelines, control, nullptr));
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
