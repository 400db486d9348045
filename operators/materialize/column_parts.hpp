// Rows of a column, over the batches of its table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "garuda/table.hpp"

namespace garuda::materialize {

/// Calls visit(array, first row of it, rows, row of the request) for the parts of the rows [first, first + rows) of a
/// column, in their order.
template <class Visit>
void visit_parts(TableView table, std::size_t column, std::uint64_t first, std::uint64_t rows, Visit const& visit) {
  std::uint64_t begin = 0;
  for (std::size_t b = 0; b < table.num_batches() && begin < first + rows; ++b) {
    auto const& array = table.batch(b).columns[column];
    auto const length = static_cast<std::uint64_t>(array.length);
    auto const from = std::max(begin, first);
    auto const to = std::min(begin + length, first + rows);
    if (from < to)
      visit(array, static_cast<std::int64_t>(from - begin), static_cast<std::int64_t>(to - from), from - first);
    begin += length;
  }
}

}  // namespace garuda::materialize
