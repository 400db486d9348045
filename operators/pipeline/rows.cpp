#include "operators/pipeline/rows.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/parallel_blocks.hpp"
#include "core/positions.hpp"
#include "operators/materialize/gather.hpp"

namespace garuda::pipeline {
namespace {

/// Most rows of a batch that is gathered.
constexpr std::size_t kBatchRows = std::size_t{1} << 17;

}  // namespace

Table pick_columns(TableView table, std::span<std::size_t const> columns, std::vector<std::string> names) {
  Schema schema;
  for (auto const column : columns) {
    schema.push_back(table.schema()[column]);
    schema.back().name = std::move(names[schema.size() - 1]);
  }
  std::vector<Batch> batches;
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    auto const& from = table.batch(b);
    auto& batch = batches.emplace_back(Batch{from.num_rows, {}, from.owner});
    for (auto const column : columns) batch.columns.push_back(from.columns[column]);
  }
  return {std::move(schema), std::move(batches)};
}

Table slice_rows(TableView table, std::uint64_t begin, std::uint64_t rows) {
  std::vector<Batch> batches;
  for (std::size_t b = 0; b < table.num_batches() && rows > 0; ++b) {
    auto const& from = table.batch(b);
    auto const in_batch = static_cast<std::uint64_t>(from.num_rows);
    auto const first = std::min(begin, in_batch);
    auto const count = std::min(rows, in_batch - first);
    begin -= first;
    rows -= count;
    if (count == 0) continue;
    auto& batch = batches.emplace_back(Batch{static_cast<std::int64_t>(count), {}, from.owner});
    for (auto const& column : from.columns)
      batch.columns.push_back(slice(column, static_cast<std::int64_t>(first), static_cast<std::int64_t>(count)));
  }
  return {table.schema(), std::move(batches)};
}

Table append_rows(std::span<Table const> tables) {
  std::vector<Batch> batches;
  for (auto const& table : tables) std::ranges::copy(table.batches(), std::back_inserter(batches));
  return {tables.front().schema(), std::move(batches)};
}

Result<Table> gather_rows(TableView table, std::span<RowNumbers const> lists, Control const& control,
                          materialize::SpillSpace* space) {
  GARUDA_TRY_ASSIGN(auto const gatherer, Gatherer::create(table, first_positions(table.num_columns())));
  std::vector<Batch> batches;
  for (auto const& rows : lists)
    for (std::size_t taken = 0; taken < rows.size();) {
      GARUDA_TRY(check_cancelled(&control));
      auto const count = std::min(kBatchRows, rows.size() - taken);
      GARUDA_TRY_ASSIGN(auto gathered, gatherer.gather(std::span(rows).subspan(taken, count)));
      taken += static_cast<std::size_t>(gathered.rows_taken);
      if (space != nullptr) {
        GARUDA_TRY_ASSIGN(gathered.batch, space->keep(gatherer.schema(), std::move(gathered.batch)));
      }
      batches.push_back(std::move(gathered.batch));
    }
  return Table(gatherer.schema(), std::move(batches));
}

}  // namespace garuda::pipeline
