// Pairs of positions in the partitioned sides → batches of result columns, on the thread that found the pairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "expr/sides.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/contract/join_kernel.hpp"
#include "operators/materialize/column_bytes.hpp"
#include "operators/materialize/gather.hpp"
#include "operators/resolve/join_columns.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::join {

/// One side of a join after its partitioning. Borrowed.
struct PartitionedTable {
  TableView table;
  std::optional<std::size_t> key_column;  ///< that words tell the values of: key = word + base
  std::uint64_t key_base = 0;
  partition::PartitionedKeys const* keys = nullptr;
  std::vector<materialize::CarriedColumn> carried;  ///< columns whose values are keys->payload, in that order
};

/// True when the builder finds some column of this side by row id.
bool needs_row_ids(PartitionedTable const& side, resolve::ResolvedJoin const& columns, Side which);

/// Where the values of the result come from. Made once, read by all lanes.
class BatchSources {
 public:
  /// Errors: those of Gatherer::create.
  static Result<std::unique_ptr<BatchSources>> create(PartitionedTable left, PartitionedTable right,
                                                      resolve::ResolvedJoin const& columns);

  /// Whether rows of `side` without a match can be given among the others: the kind of join has them, and no column of
  /// the result takes its value from either side.
  bool places_unmatched(Side side) const noexcept { return of(other_side(side)).may_be_null; }

 private:
  friend class BatchBuilder;

  enum class Kind : std::uint8_t {
    key,       ///< from the partitioned keys
    in_order,  ///< element i belongs to position i
    cells,     ///< the same of strings, a cell each
    by_row,    ///< a plain column of a table of one batch, by row id
    gathered,  ///< any other column, by row id, a whole batch at once
  };
  struct Column {
    Side side = Side::left;
    Kind kind = Kind::in_order;
    std::uint32_t width = 4;
    std::byte const* values = nullptr;  ///< in_order, cells, by_row
    double mean_bytes = 0;              ///< cells: of a value
    bool has_large_offsets = false;     ///< cells
    std::size_t gathered = 0;           ///< position among its side's gathered columns
    std::size_t column = 0;             ///< of its side's table
    bool has_both_keys = false;         ///< never null for want of a match
  };
  struct Source {
    PartitionedTable side;
    bool wants_rows = false;
    bool may_be_null = false;  ///< rows of the other side come without one of this side
    /// First row of each batch, then the number of rows, where results can refer to the table's columns; else empty.
    std::vector<std::uint64_t> first_rows;
    std::vector<std::size_t> gathered_columns;
    std::optional<Gatherer> gatherer;
  };

  BatchSources() = default;
  Result<void> add_side(PartitionedTable side, resolve::ResolvedJoin const& columns, Side which);
  Column column_of(Source& source, Side which, std::size_t column);
  bool can_share(Source const& source, Side which, resolve::ResolvedJoin const& columns) const;

  Source const& of(Side side) const noexcept { return side == Side::left ? left_ : right_; }

  Source left_;
  Source right_;
  std::vector<Column> columns_;  ///< in the order of the result
  bool has_cells_ = false;       ///< some of them
};

/// Most pairs of one append: their columns stay in the caches from one to the next.
inline constexpr std::size_t kAppendedPairs = 4'096;

/// First positions of a slice in the partitioned sides.
struct PositionBases {
  std::uint64_t left = 0;
  std::uint64_t right = 0;

  std::uint64_t of(Side side) const noexcept { return side == Side::left ? left : right; }
};

/// A column of strings of one batch, behind offsets, made of the cells in which partitioning carried its values. Used
/// by one thread.
class CellStrings {
 public:
  /// Most rows of a batch that offsets of 32 bits reach over.
  static constexpr std::uint64_t kMostRows =
      std::numeric_limits<std::int32_t>::max() / std::uint64_t{materialize::kLargestCellBytes};

  /// Makes room for `rows` rows of `mean_bytes` bytes, about. Errors: out_of_memory.
  Result<void> start(std::uint64_t rows, double mean_bytes, bool large_offsets);

  /// Appends the values of `count` cells of `width` bytes; at(i): that of row i. `present`: 0 where there is no value,
  /// nullptr: all have one. Requires: there is room for the rows. Throws std::bad_alloc.
  template <class At>
  void append(std::byte const* cells, std::uint32_t width, At at, std::size_t count, std::uint8_t const* present) {
    reserve_bytes(count);
    if (width == 8)
      is_large_ ? put<8, std::int64_t>(cells, at, count, present) : put<8, std::int32_t>(cells, at, count, present);
    else
      is_large_ ? put<16, std::int64_t>(cells, at, count, present) : put<16, std::int32_t>(cells, at, count, present);
    rows_ += count;
  }

  /// Ends the column, if there is one.
  void finish() noexcept;
  /// The column's rows from `first` on; refers to this. Requires: finish() was called.
  ArrayView view(std::uint64_t first, std::int64_t rows) const noexcept;

 private:
  template <std::uint32_t kWidth, class Offset, class At>
  void put(std::byte const* cells, At at, std::size_t count, std::uint8_t const* present) {
    auto* const out = bytes_.data();
    auto* const ends = offsets_.as<Offset>() + rows_ + 1;
    auto end = used_;
    for (std::size_t i = 0; i < count; ++i) {
      auto const* const cell = cells + at(i) * std::size_t{kWidth};
      // The whole cell: what lies behind its value is overwritten by the next one.
      __builtin_memcpy(out + end, cell, kWidth);
      auto const length = materialize::cell_length(cell, kWidth);
      end += present == nullptr || present[i] != 0 ? length : 0;
      ends[i] = static_cast<Offset>(end);
    }
    used_ = end;
  }

  void reserve_bytes(std::size_t rows);

  AlignedBuffer offsets_;
  AlignedBuffer bytes_;
  std::uint64_t rows_ = 0;
  std::int64_t used_ = 0;  ///< of bytes_
  bool is_large_ = false;
};

/// Fills one batch after the other. Used by one thread.
class BatchBuilder {
 public:
  explicit BatchBuilder(BatchSources const& sources);

  /// Begins a batch of at most `rows` rows. Errors: out_of_memory.
  Result<void> start(std::uint64_t rows) { return start(rows, std::nullopt); }
  /// Begins a batch that takes rows of `side` one after the other, from position `first` on, where the result can
  /// refer to the columns of that side's table. Then it has no more rows than a batch of the table has left.
  Result<void> start_sharing(std::uint64_t rows, Side side, std::uint64_t first);
  /// The position that a batch so begun takes next; nullopt: it takes any.
  std::optional<std::uint64_t> next_shared() const noexcept;
  BatchSources const& sources() const noexcept { return sources_; }
  std::uint64_t size() const noexcept { return size_; }
  /// Rows that the batch can still take.
  std::uint64_t room() const noexcept { return capacity_ - size_; }

  /// Appends the rows of at most kAppendedPairs pairs, which count from positions `bases` of the partitioned sides.
  /// `probe`: the side whose positions ascend; keys, equal on both, are read there.
  /// Requires: there is room.
  void append(std::span<contract::RowPair const> pairs, PositionBases bases, Side probe);
  /// Appends consecutive probe rows from `first_probe` on, as JoinKernel::unique_matches has them: the probe side's
  /// columns are copied as a whole, or shared. Requires: each has a match, or the probe side's unmatched rows are
  /// placed.
  void append_unique(std::span<std::uint32_t const> build_rows, std::uint64_t first_probe, PositionBases bases,
                     Side probe);

  /// Ends the batch, several when 32-bit offsets of strings do not reach over all of it; none when it is empty.
  /// Errors: out_of_memory.
  Result<std::vector<Batch>> finish();

 private:
  /// One side's part in the pairs of an append, and the row ids of the batch.
  struct SideRows {
    std::vector<std::uint32_t> positions;  ///< of the keys, from the base
    std::optional<std::uint64_t> first;    ///< of positions that are consecutive
    std::vector<std::uint32_t> narrow;     ///< row ids of the pairs, or
    std::vector<std::uint64_t> wide;       ///< of tables beyond 2^32 rows
    std::vector<std::uint32_t> batch_narrow;
    std::vector<std::int64_t> batch_wide;
    std::vector<std::uint8_t> present;  ///< of the batch, where rows may be null: 1, or 0 for a row of nulls
    bool has_nulls = false;             ///< some of these are 0
  };
  struct Values;
  struct BatchMemory;
  /// Rows of a batch of a side's table, which the result refers to.
  struct Shared {
    Side side = Side::left;
    std::size_t batch = 0;
    std::uint64_t first = 0;        ///< of the table's batch
    std::uint64_t table_first = 0;  ///< of the table
  };

  Result<void> start(std::uint64_t rows, std::optional<Shared> shared);
  bool is_shared(Side side) const noexcept { return shared_ && shared_->side == side; }
  bool has_wide_ids(Side side) const;
  void expect_present(std::size_t count);
  void place_unmatched(std::span<std::uint32_t const> build_rows, SideRows& built) const;
  void resolve(Side side, std::size_t count, std::uint64_t base);
  void append_positions(std::size_t count, PositionBases bases, Side probe);
  void append_column(std::size_t column, std::size_t count, std::uint64_t base);
  void append_cells(std::size_t column, std::size_t count, std::uint64_t base);
  void append_keys(std::size_t column, std::size_t count, std::uint64_t base, Side probe);
  Result<GatherResult> gather(Side side, std::uint64_t first, std::uint64_t rows) const;
  Result<std::shared_ptr<Values const>> take_values();
  ArrayView view_of(std::size_t column, std::uint64_t first, std::int64_t rows, Values const& values) const;
  SideRows& rows_of(Side side) noexcept { return side == Side::left ? left_ : right_; }
  SideRows const& rows_of(Side side) const noexcept { return side == Side::left ? left_ : right_; }

  BatchSources const& sources_;
  std::vector<AlignedBuffer> values_;  ///< a column of the result; empty for gathered and shared ones, and strings
  std::vector<CellStrings> strings_;   ///< a column of the result, those of cells
  SideRows left_;
  SideRows right_;
  std::optional<Shared> shared_;
  std::uint64_t size_ = 0;
  std::uint64_t capacity_ = 0;
};

}  // namespace garuda::join
