// Sorts and numbers the rows of a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/materialize/spill_space.hpp"
#include "operators/pipeline/rows.hpp"

namespace garuda::query {

struct SortColumn {
  std::size_t column = 0;
  bool descending = false;
  bool nulls_first = false;
};

/// Numbers of rows from 1 on among those that are equal in the first `num_partition` columns, in the order of all
/// columns. Those behind the first `num_keys` break ties.
struct RowNumbering {
  std::size_t num_partition = 0;
  std::size_t num_keys = 0;
  std::vector<SortColumn> columns{};
};

/// The first `rows` rows in the order of `columns` (nullopt: all rows), values ordered as keys::encode_order has it.
/// Rows that are equal in all of them keep their order. Blocks; runs on the threads of the calling task arena. Memory:
/// eight bytes a row and 64-bit word, of which a column takes one, or two with nulls. `space`: keeps the result;
/// nullptr: it is in memory. Errors: those of encode_order, Gatherer::gather and SpillSpace::keep; out_of_memory,
/// cancelled.
Result<Table> sort_rows(TableView table, std::span<SortColumn const> columns, std::optional<std::uint64_t> rows,
                        Control const& control, materialize::SpillSpace* space = nullptr);

/// The numbers of the rows that sort_rows() gives, in that order. Errors: those of encode_order.
Result<pipeline::RowNumbers> sorted_row_numbers(TableView table, std::span<SortColumn const> columns,
                                                std::optional<std::uint64_t> rows, Control const& control);
/// The number of one row of all that are equal in all of `columns`, in their order. Errors: as above.
Result<pipeline::RowNumbers> distinct_row_numbers(TableView table, std::span<SortColumn const> columns,
                                                  Control const& control);

/// The numbers of rows that are in order, from 1 on within each run of rows that are equal in `columns`; the first row
/// has the number `first`. Errors: as above.
Result<std::vector<std::int64_t>> numbers_in_order(TableView table, std::span<SortColumn const> columns,
                                                   std::int64_t first, Control const& control);

/// The rows of the table, in its order, with a column of int64 more: their numbers. Columns that break ties are looked
/// at for rows that are tied alone. Shares the columns of the table, whose memory has to outlive the result where its
/// batches do not own it. Rows are brought together by a hash of what partitions them, then sorted. Memory: twice that
/// of sort_rows. Blocks and fails as sort_rows does.
Result<Table> number_rows(TableView table, RowNumbering const& numbering, Control const& control);

}  // namespace garuda::query
