// Tables between pipelines: columns that are shared, picked, cut and put behind one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/materialize/spill_space.hpp"
#include "operators/pipeline/chunk.hpp"

namespace garuda::pipeline {

/// Chosen columns of all rows, in that order, under other names. Shares them with `table`, whose memory has to outlive
/// the result where its batches do not own it.
Table pick_columns(TableView table, std::span<std::size_t const> columns, std::vector<std::string> names);

/// Rows [begin, begin + rows), as many of them as there are. Shares them likewise.
Table slice_rows(TableView table, std::uint64_t begin, std::uint64_t rows);

/// The rows of all tables, one after the other, with the schema of the first one. Shares them. Requires: at least one
/// table, columns of the same types.
Table append_rows(std::span<Table const> tables);

/// The rows that the lists name by their numbers, list after list, in memory of their own. Blocks; runs on the threads
/// of the calling task arena. `space`: keeps the batches; nullptr: they are in memory. Errors: those of Gatherer and
/// SpillSpace::keep; cancelled.
Result<Table> gather_rows(TableView table, std::span<RowNumbers const> lists, Control const& control,
                          materialize::SpillSpace* space = nullptr);

}  // namespace garuda::pipeline
