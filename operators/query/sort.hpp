// Sorts the rows of a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"

namespace garuda::query {

struct SortColumn {
  std::size_t column = 0;
  bool descending = false;
  bool nulls_first = false;
};

/// The first `rows` rows in the order of `columns` (nullopt: all rows), values ordered as keys::encode_order has it.
/// Rows that are equal in all of them keep their order. Blocks; runs on the threads of the calling task arena. Memory:
/// eight bytes a row and 64-bit word, of which a column takes one, or two with nulls. Errors: those of encode_order and
/// Gatherer::gather; out_of_memory, cancelled.
Result<Table> sort_rows(TableView table, std::span<SortColumn const> columns, std::optional<std::uint64_t> rows,
                        Control const& control);

}  // namespace garuda::query
