#include "operators/engine/rows.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "core/parallel_blocks.hpp"

namespace garuda::engine {
namespace {

/// Rows that one task checks.
constexpr std::int64_t kRowsAtOnce = std::int64_t{1} << 18;

Result<void> check_column(TableView rows, std::size_t column, std::uint32_t threads, Control const* control) {
  auto const& field = rows.schema()[column];
  struct Task {
    std::size_t batch = 0;
    std::int64_t first = 0;
  };
  std::vector<Task> tasks;
  for (std::size_t b = 0; b < rows.num_batches(); ++b)
    for (std::int64_t first = 0; first < rows.batch(b).num_rows; first += kRowsAtOnce) tasks.push_back({b, first});
  std::vector<char> is_right(tasks.size());
  oneapi::tbb::task_arena arena(arena_threads(threads));
  GARUDA_TRY(arena.execute([&] {
    return for_each_block(tasks.size(), control, [&](std::size_t t) {
      auto const& [b, first] = tasks[t];
      auto const& all = rows.batch(b).columns[column];
      auto const part = slice(all, first, std::min(kRowsAtOnce, all.length - first));
      is_right[t] = check_offsets(part, field.type).has_value() ? 1 : 0;
    });
  }));
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    if (is_right[t] != 0) continue;
    // Once more, for the row's number in its batch.
    auto const batch = tasks[t].batch;
    auto checked = check_offsets(rows.batch(batch).columns[column], field.type);
    GARUDA_EXPECTS(!checked);
    return tl::unexpected(std::move(checked)
                              .error()
                              .wrap(fmt::format("cannot import column: {}", field.name))
                              .wrap(fmt::format("invalid batch at position: {}", batch)));
  }
  return {};
}

}  // namespace

ColumnNames columns_of(GroupBySpec const& spec) {
  std::set<std::string_view> columns(spec.keys.begin(), spec.keys.end());
  for (auto const& aggregate : spec.aggregates)
    for (auto const& name : {std::cref(aggregate.column), std::cref(aggregate.second)})
      if (name.get()) columns.insert(*name.get());
  return columns;
}

ColumnNames columns_of(JoinSpec const& spec, Side side) {
  bool const is_left_alone = spec.kind == JoinKind::semi || spec.kind == JoinKind::anti || spec.kind == JoinKind::mark;
  bool const is_of_keys = is_left_alone && side == Side::right;  // none of its columns is in the result
  if (spec.where || (!spec.columns && !is_of_keys)) return std::nullopt;
  std::set<std::string_view> columns;
  for (auto const& [left, right] : spec.on) columns.insert(side == Side::left ? left : right);
  if (spec.columns)
    for (auto const& column : *spec.columns)
      if (column.side == side) columns.insert(column.name);
  return columns;
}

Rows::Rows(Place place, Offsets offsets)
    : place_(std::move(place)), is_checked_(view().num_columns(), offsets == Offsets::checked) {}

TableView Rows::view() const {
  return std::visit([](auto const& rows) { return rows.view(); }, place_);
}

Offsets Rows::offsets() const {
  std::lock_guard const lock(mutex_);
  return std::ranges::all_of(is_checked_, std::identity()) ? Offsets::checked : Offsets::deferred;
}

Result<TableView> Rows::checked(std::uint32_t threads, ColumnNames const& columns, Control const* control) {
  GARUDA_TRY(check_threads(threads));
  std::lock_guard const lock(mutex_);
  auto const rows = view();
  for (std::size_t c = 0; c < is_checked_.size(); ++c) {
    auto const& field = rows.schema()[c];
    if (is_checked_[c] || (columns && !columns->contains(field.name))) continue;
    if (is_variable_width(field.type) || is_view(field.type)) GARUDA_TRY(check_column(rows, c, threads, control));
    is_checked_[c] = true;
  }
  return rows;
}

}  // namespace garuda::engine
