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
#include "operators/materialize/string_column.hpp"

namespace garuda {

/// Position in the unified dictionary of each value of a batch's own dictionary.
using DictionaryMap = std::vector<std::int64_t>;

/// A column as it is read: one part for each batch that has rows.
struct GatherColumn {
  DataType source_type;
  DataType type;  ///< of the result
  std::vector<ArrayView> parts;
  std::vector<std::byte const*> bases;            ///< fixed width: first value of each part
  std::vector<StringPart> strings;                ///< of each part of strings and binary
  std::shared_ptr<ReferredBytes const> referred;  ///< what views of the result refer to; nullptr: they have own bytes
  bool may_have_nulls = false;
  std::shared_ptr<Batch const> dictionary;  ///< one column; shared with results, which outlive the gatherer
  std::vector<std::shared_ptr<DictionaryMap const>> maps;  ///< of each part; empty when every index stays as it is

  /// Adds the rows of one batch. Requires: at least one row, in memory that the host can read.
  void add_part(ArrayView const& part);
};

/// Whether values have no fixed width.
inline bool is_string(DataType const& type) noexcept { return is_variable_width(type) || is_view(type); }

/// A column as it is written. Buffers are sized exactly.
struct GatherOutput {
  AlignedBuffer validity;
  AlignedBuffer offsets;
  AlignedBuffer values;  ///< of views: these
  AlignedBuffer viewed;  ///< the bytes that views refer to, unless these are the table's:
  std::shared_ptr<ReferredBytes const> referred;
  std::atomic<std::int64_t> num_nulls{0};
};

/// Reserves what the first `num_rows` rows need beside strings. Errors: out_of_memory.
template <class RowId>
Result<void> reserve(GatherColumn const& column, RowSelection<RowId> const& rows, std::int64_t num_rows,
                     GatherOutput& output);

/// Writes the rows [begin, end) of one block, but for strings. Different blocks and columns may be written at the same
/// time.
template <class RowId>
void fill_block(GatherColumn const& column, RowSelection<RowId> const& rows, std::int64_t begin, std::int64_t end,
                GatherOutput& output);

/// Gathers `columns`, whose parts begin at the rows `first_rows` (and end at its last element), as Gatherer::gather
/// does.
template <class RowId>
Result<GatherResult> gather_columns(std::span<GatherColumn const> columns, std::span<std::int64_t const> first_rows,
                                    std::span<RowId const> row_ids, GatherLimits limits);

/// Copies the dictionaries of `column` into one, sets `dictionary`, and sets `maps` and a type with wider indices, or
/// with 64-bit offsets of its values, as far as the union of different dictionaries needs it. Values keep the order of
/// their first appearance. The only dictionary is shared where `owner` keeps it and results may refer to what they are
/// of (`strings`), or it is that of a stored table. Requires: a dictionary type; parts and source type are set. Errors:
/// out_of_memory.
Result<void> unify_dictionaries(GatherColumn& column, GatherLimits limits, StringForm strings,
                                std::shared_ptr<void const> const& owner);

}  // namespace garuda
