// Sorts and numbers the rows of a table.
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

/// The rows of the table, in its order, with a column of int64 more: their numbers, from 1 on, in the order of
/// `columns`, among those that are equal in the first `num_partition` ones. Shares the columns of the table, whose
/// memory has to outlive the result where its batches do not own it. Blocks and fails as sort_rows does.
Result<Table> number_rows(TableView table, std::span<SortColumn const> columns, std::size_t num_partition,
                          Control const& control);

}  // namespace garuda::query
