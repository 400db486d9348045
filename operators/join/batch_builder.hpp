// Pairs of positions in the partitioned sides → batches of result columns, on the thread that found the pairs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/contract/join_kernel.hpp"
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
  std::vector<std::size_t> carried;  ///< columns whose values are keys->payload, in that order
};

/// True when the builder finds some column of this side by row id.
bool needs_row_ids(PartitionedTable const& side, resolve::ResolvedJoin const& columns, Side which);

/// Where the values of the result come from. Made once, read by all lanes.
class BatchSources {
 public:
  /// Errors: those of Gatherer::create.
  static Result<std::unique_ptr<BatchSources>> create(PartitionedTable left, PartitionedTable right,
                                                      resolve::ResolvedJoin const& columns);

 private:
  friend class BatchBuilder;

  enum class Kind : std::uint8_t {
    key,       ///< from the partitioned keys
    in_order,  ///< element i belongs to position i
    by_row,    ///< a plain column of a table of one batch, by row id
    gathered,  ///< any other column, by row id, a whole batch at once
  };
  struct Column {
    Side side = Side::left;
    Kind kind = Kind::in_order;
    std::uint32_t width = 4;
    std::byte const* values = nullptr;  ///< in_order, by_row
    std::size_t gathered = 0;           ///< position among its side's gathered columns
  };
  struct Source {
    PartitionedTable side;
    bool wants_rows = false;
    std::vector<std::size_t> gathered_columns;
    std::optional<Gatherer> gatherer;
  };

  BatchSources() = default;
  Result<void> add_side(PartitionedTable side, resolve::ResolvedJoin const& columns, Side which);
  Column column_of(Source& source, Side which, std::size_t column);

  Source const& of(Side side) const noexcept { return side == Side::left ? left_ : right_; }

  Source left_;
  Source right_;
  std::vector<Column> columns_;  ///< in the order of the result
};

/// Most pairs of one append: their columns stay in the caches from one to the next.
inline constexpr std::size_t kAppendedPairs = 4'096;

/// First positions of a slice in the partitioned sides.
struct PositionBases {
  std::uint64_t left = 0;
  std::uint64_t right = 0;

  std::uint64_t of(Side side) const noexcept { return side == Side::left ? left : right; }
};

/// Fills one batch after the other. Used by one thread.
class BatchBuilder {
 public:
  explicit BatchBuilder(BatchSources const& sources);

  /// Begins a batch of at most `rows` rows. Errors: out_of_memory.
  Result<void> start(std::uint64_t rows);
  std::uint64_t size() const noexcept { return size_; }
  /// Rows that the batch can still take.
  std::uint64_t room() const noexcept { return capacity_ - size_; }

  /// Appends the rows of at most kAppendedPairs pairs, which count from positions `bases` of the partitioned sides.
  /// `probe`: the side whose positions ascend; keys, equal on both, are read there.
  /// Requires: there is room.
  void append(std::span<contract::RowPair const> pairs, PositionBases bases, Side probe);
  /// The same of consecutive probe rows from `first_probe` on, as JoinKernel::sole_matches has them: the probe side's
  /// columns are copied as a whole.
  void append_sole(std::span<std::uint32_t const> build_rows, std::uint64_t first_probe, PositionBases bases,
                   Side probe);

  /// Ends the batch, several when 32-bit offsets of strings do not reach over all of it; none when it is empty.
  /// Errors: out_of_memory.
  Result<std::vector<Batch>> finish();

 private:
  /// What one side contributes to the pairs of an append, and the row ids of the batch.
  struct SideRows {
    std::vector<std::uint32_t> positions;  ///< of the keys, from the base
    std::optional<std::uint64_t> first;    ///< of positions that are consecutive
    std::vector<std::uint32_t> narrow;     ///< row ids of the pairs, or
    std::vector<std::uint64_t> wide;       ///< of tables beyond 2^32 rows
    std::vector<std::uint32_t> batch_narrow;
    std::vector<std::int64_t> batch_wide;
  };

  void resolve(Side side, std::size_t count, std::uint64_t base);
  void append_positions(std::size_t count, PositionBases bases, Side probe);
  void append_column(std::size_t column, std::size_t count, std::uint64_t base);
  void append_keys(std::size_t column, std::size_t count, std::uint64_t base, Side probe);
  Result<GatherResult> gather(Side side, std::uint64_t first, std::uint64_t rows) const;
  SideRows& rows_of(Side side) noexcept { return side == Side::left ? left_ : right_; }
  SideRows const& rows_of(Side side) const noexcept { return side == Side::left ? left_ : right_; }

  BatchSources const& sources_;
  std::vector<AlignedBuffer> values_;  ///< a column of the result; empty for gathered ones
  SideRows left_;
  SideRows right_;
  std::uint64_t size_ = 0;
  std::uint64_t capacity_ = 0;
};

}  // namespace garuda::join
