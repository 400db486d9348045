#include "operators/engine/c_rows.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/task_arena.h>

#include <utility>

#include "core/parallel_blocks.hpp"

namespace garuda::engine {
namespace {

Result<void> check_column(TableView rows, std::size_t column, std::uint32_t threads) {
  auto const& field = rows.schema()[column];
  std::vector<Result<void>> checks(rows.num_batches());
  oneapi::tbb::task_arena arena(threads == 0 ? oneapi::tbb::task_arena::automatic : static_cast<int>(threads));
  GARUDA_TRY(arena.execute([&] {
    return for_each_block(checks.size(), nullptr,
                          [&](std::size_t b) { checks[b] = check_offsets(rows.batch(b).columns[column], field.type); });
  }));
  for (std::size_t b = 0; b < checks.size(); ++b)
    if (!checks[b])
      return tl::unexpected(std::move(checks[b])
                                .error()
                                .wrap(fmt::format("cannot import column: {}", field.name))
                                .wrap(fmt::format("invalid batch at position: {}", b)));
  return {};
}

}  // namespace

Rows::Rows(Place place, Offsets offsets)
    : place_(std::move(place)), is_checked_(view().num_columns(), offsets == Offsets::checked) {}

TableView Rows::view() const {
  return std::visit([](auto const& rows) { return rows.view(); }, place_);
}

Result<TableView> Rows::checked(std::uint32_t threads, std::optional<std::set<std::string_view>> const& columns) {
  std::lock_guard const lock(mutex_);
  auto const rows = view();
  for (std::size_t c = 0; c < is_checked_.size(); ++c) {
    auto const& field = rows.schema()[c];
    if (is_checked_[c] || (columns && !columns->contains(field.name))) continue;
    if (is_variable_width(field.type)) GARUDA_TRY(check_column(rows, c, threads));
    is_checked_[c] = true;
  }
  return rows;
}

}  // namespace garuda::engine
