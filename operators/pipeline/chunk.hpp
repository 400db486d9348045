// Rows on their way through a pipeline: which rows of its tables they are made of, and the columns that were read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "garuda/types.hpp"
#include "operators/materialize/gather.hpp"

namespace garuda::pipeline {

/// A column that a pipeline has at some step, by its number.
using Slot = std::size_t;

/// Numbers of rows, or positions in a chunk.
using RowNumbers = UnsetVector<std::int64_t>;

/// A column of a chunk, borrowed from the memory that `owner` keeps.
struct ChunkColumn {
  Field const* field = nullptr;  ///< nullptr: the column was not read yet
  ArrayView array;
  std::shared_ptr<void const> owner;
};

/// The rows of one origin, a scanned table or a build side, that the rows of a chunk are made of: a range of one batch,
/// or a list of row numbers, in which -1 stands for a row of nulls.
struct OriginRows {
  std::size_t batch = 0;                  ///< The range lies in this batch.
  std::int64_t in_batch = 0;              ///< The range begins at this row of the batch,
  std::int64_t begin = 0;                 ///< which is this row of the table.
  std::shared_ptr<RowNumbers const> ids;  ///< nullptr: the rows are a range, or are not needed
};

struct Chunk {
  std::uint64_t num_rows = 0;
  std::vector<OriginRows> origins;
  std::vector<ChunkColumn> columns;  ///< by slot
};

/// Tables and columns of a pipeline, known before it runs.
struct Columns {
  /// Tables of one origin have the same rows: row numbers of the origin count over each of them.
  struct Source {
    TableView table;
    std::size_t origin = 0;
  };
  /// A column of a source, or one that a step computes.
  struct Known {
    std::optional<std::size_t> source;
    std::size_t column = 0;  ///< position in the source's table
    Field field;
  };

  std::vector<Source> sources;
  std::vector<Known> slots;
  std::size_t num_origins = 0;

  Slot add(Known known) {
    slots.push_back(std::move(known));
    return slots.size() - 1;
  }
};

/// Columns of a chunk as a table of one batch, which borrows them.
Table table_of(Chunk const& chunk, std::span<Slot const> slots);

/// Reads columns of sources into chunks. Immutable once it is made.
class Loader {
 public:
  /// `slots`: columns of sources that chunks do not have yet. `is_range`: whether the rows of each origin are ranges.
  /// `strings`: the form of strings whose rows are lists; those of ranges stay as they are.
  /// Errors: those of Gatherer::create.
  static Result<Loader> create(Columns const& columns, std::span<Slot const> slots, std::vector<bool> const& is_range,
                               StringForm strings);

  /// The fields of the columns that are read.
  std::vector<std::pair<Slot, Field const*>> fields() const;

  /// Returns how many of the leading rows were read: all, but where strings pass the limits of a column.
  /// Errors: those of Gatherer::gather.
  Result<std::uint64_t> load(Chunk& chunk) const;

 private:
  /// Columns of one source.
  struct Part {
    TableView table;
    std::size_t origin = 0;
    std::vector<Slot> slots;
    std::vector<std::size_t> columns;
    std::optional<Gatherer> gatherer;  ///< nullopt: the rows are a range

    Field const& field(std::size_t i) const { return gatherer ? gatherer->schema()[i] : table.schema()[columns[i]]; }
  };

  std::vector<Part> parts_;
};

/// The columns and origins of a chunk that later steps read.
struct Live {
  std::vector<Slot> slots;    ///< of those that were read: they come along
  std::vector<bool> origins;  ///< whether row numbers of the origin come along
  std::vector<bool> wanted;   ///< by slot: whether later steps read the column, from wherever it comes
};

/// The rows of a chunk at `positions`, ascending or not, with what is live. Errors: those of Gatherer.
Result<Chunk> take(Chunk const& chunk, std::span<std::int64_t const> positions, Live const& live);

}  // namespace garuda::pipeline
