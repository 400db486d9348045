// One column of a gather: what it is copied from, and the buffers it is copied into.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "garuda/types.hpp"
#include "operators/materialize/gather.hpp"
#include "operators/materialize/gather_rows.hpp"

namespace garuda {

/// Position in the unified dictionary of each value of a batch's own dictionary.
using DictionaryMap = std::vector<std::int64_t>;

/// A column as it is read: one part for each batch that has rows.
struct GatherColumn {
  DataType source_type;
  DataType type;  ///< of the result
  std::vector<ArrayView> parts;
  std::vector<std::byte const*> bases;  ///< fixed width: first value of each part
  bool may_have_nulls = false;
  std::shared_ptr<Batch const> dictionary;  ///< one column; shared with results, which outlive the gatherer
  std::vector<std::shared_ptr<DictionaryMap const>> maps;  ///< of each part; empty when every index stays as it is

  /// Adds the rows of one batch. Requires: at least one row, in memory that the host can read.
  void add_part(ArrayView const& part);
};

/// Whether the bytes of values are gathered behind offsets: those of views, too, which are made of them in the end.
inline bool has_measured_bytes(DataType const& type) noexcept { return is_variable_width(type) || is_view(type); }

/// A column as it is written. Buffers are sized exactly.
struct GatherOutput {
  AlignedBuffer validity;
  AlignedBuffer offsets;
  AlignedBuffer values;
  std::vector<std::int64_t> block_offsets;  ///< variable width: first byte of each block, then the number of bytes
  std::atomic<std::int64_t> num_nulls{0};
};

/// Measures a variable-width column: leaves the length of value i at position i + 1 of the offsets, and the first byte
/// of each block. Returns how many of the first `num_rows` rows fit into `max_bytes` bytes, at least one. Errors:
/// out_of_memory.
template <class RowId>
Result<std::int64_t> measure(GatherColumn const& column, RowSelection<RowId> const& rows, std::int64_t num_rows,
                             std::int64_t max_bytes, GatherOutput& output);

/// Reserves what the first `num_rows` rows need. A variable-width column must have been measured over at least these.
/// Errors: out_of_memory.
template <class RowId>
Result<void> reserve(GatherColumn const& column, RowSelection<RowId> const& rows, std::int64_t num_rows,
                     GatherOutput& output);

/// Writes the rows [begin, end) of one block. Different blocks and columns may be written at the same time.
template <class RowId>
void fill_block(GatherColumn const& column, RowSelection<RowId> const& rows, std::int64_t begin, std::int64_t end,
                GatherOutput& output);

/// Gathers `columns`, whose parts begin at the rows `first_rows` (and end at its last element), as Gatherer::gather
/// does.
template <class RowId>
Result<GatherResult> gather_columns(std::span<GatherColumn const> columns, std::span<std::int64_t const> first_rows,
                                    std::span<RowId const> row_ids, GatherLimits limits);

}  // namespace garuda
