// Tables with a column of numbers behind their own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "garuda/table.hpp"

namespace garuda::materialize {

/// Columns of a batch, and what keeps them and the numbers of their rows.
struct NumberedBatch {
  std::shared_ptr<void const> columns;
  std::shared_ptr<std::vector<std::int64_t> const> numbers;
};

/// The rows with a column of int64 more, called `name`: one of `numbers` a row. Shares the other columns.
inline Table with_numbers(TableView table, std::string name,
                          std::shared_ptr<std::vector<std::int64_t> const> const& numbers) {
  auto schema = table.schema();
  schema.push_back({std::move(name), {TypeId::int64}, false});
  std::vector<Batch> batches;
  std::int64_t first = 0;
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    auto const& from = table.batch(b);
    std::vector<ArrayView> columns(from.columns.begin(), from.columns.end());
    columns.push_back({.length = from.num_rows, .offset = first, .null_count = 0, .values = numbers->data()});
    batches.push_back(
        {from.num_rows, std::move(columns), std::make_shared<NumberedBatch const>(NumberedBatch{from.owner, numbers})});
    first += from.num_rows;
  }
  return {std::move(schema), std::move(batches)};
}

}  // namespace garuda::materialize
