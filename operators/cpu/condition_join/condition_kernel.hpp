// A slice of a join without keys on the CPU.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "expr/condition_parts.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/contract/join_kernel.hpp"
#include "operators/contract/join_kind.hpp"
#include "operators/cpu/condition_join/pair_tests.hpp"

namespace garuda::cpu {

/// Sorted words, and for each value of their leading bits where its words begin. Read-only once made, by any threads.
class RangeIndex {
 public:
  /// Sorts `rows` words of `column`, or those of the rows `chosen` (which are numbers of it, ascending), on the threads
  /// of the calling task arena: partitioned by their leading bits, then each partition. Rows of one word stay in order.
  /// Errors: out_of_memory, cancelled.
  static Result<RangeIndex> create(expr::ColumnWords const& column, std::uint64_t rows,
                                   std::optional<std::vector<std::uint32_t>> chosen, Control const& control);

  /// Row numbers in the order of their words; once.
  std::vector<std::uint32_t> take_order() noexcept { return std::move(order_); }

  /// The first position whose word is `word` or more; all of them, if there is none.
  std::uint32_t lower_bound(std::uint64_t word) const noexcept;

  struct Positions {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;

    std::uint32_t size() const noexcept { return end - begin; }
  };
  /// Positions of the words in `range`.
  Positions find(expr::WordRange const& range) const noexcept {
    if (range.is_empty()) return {};
    auto const begin = lower_bound(range.low);
    auto const end = range.high >= max_ ? size_ : lower_bound(range.high + 1);
    return {begin, end < begin ? begin : end};
  }

 private:
  template <class Word>
  Result<void> sort(Word const* words, std::vector<std::uint32_t> const* chosen, Control const& control);
  template <class Word>
  void fill_buckets(std::uint32_t differing);
  template <class Word>
  std::uint32_t search(std::uint64_t word) const noexcept;

  std::uint32_t size_ = 0;
  bool is_wide_ = false;
  std::uint64_t min_ = 0;
  std::uint64_t max_ = 0;
  std::uint32_t shift_ = 0;  // of the leading bits
  std::uint64_t mask_ = 0;
  std::vector<std::uint32_t> buckets_;  // where the words of each value of the leading bits begin, then their number
  AlignedBuffer words_;
  std::vector<std::uint32_t> order_;
};

/// The build side of slices: rows that may match, in the order of the table, or of a column that a row of the other
/// side finds a range of.
struct BuildSlice {
  contract::RowSpan span;
  BuildRows rows;
  std::optional<RangeIndex> index;
};

/// State that kernels of one join share and borrow.
struct ConditionJoin {
  expr::PairCondition const* condition = nullptr;
  expr::ConditionParts const* parts = nullptr;
  PairTests const* tests = nullptr;
  expr::ColumnBounds const* sorted_by = nullptr;  ///< of the build column whose order the index has; nullptr: no index
  Control const* control = nullptr;
  contract::StatsSink* stats = nullptr;
};

/// Compares the rows of the probe side with all positions of the build side, or with those that the index finds: tile
/// by tile, so that what is compared again stays in the caches. Where nothing is left to test, counts and marks
/// enumerate no pair. Pairs come by tile, then probe row, then position. `join` outlives the kernel. Source: He et al.
/// 2008, §4.2 (NINLJ, INLJ).
class ConditionKernel final : public contract::JoinKernel {
 public:
  ConditionKernel(ConditionJoin const& join, Side build_side, contract::RowSpan probe,
                  std::shared_ptr<BuildSlice const> build);

  Result<std::uint64_t> count() override;
  Result<void> pairs(std::uint64_t first, std::span<contract::RowPair> out) override;
  Result<contract::MarkBitmap> mark(Side side) override;
  Result<void> add_marks(Side side, contract::RowMarks& marks, std::uint64_t first) override;

 private:
  using Positions = RangeIndex::Positions;

  /// Probe rows (numbers in the list of those that may match), and build positions where there is no index.
  struct Tile {
    std::uint32_t begin_row = 0;
    std::uint32_t end_row = 0;
    Positions positions;
  };
  /// Where the enumeration of pairs stands: at a position of a row of a tile, before which there are so many pairs.
  struct Cursor {
    std::uint64_t pair = 0;
    std::size_t tile = ~std::size_t{0};  ///< at first none
    std::uint32_t row = 0;
    std::uint32_t position = 0;
  };

  std::size_t num_tiles() const noexcept { return std::size_t{row_tiles_} * position_tiles_; }
  Tile tile(std::size_t index) const noexcept;
  Positions positions_of(Tile const& tile, std::uint32_t row) const noexcept {
    return ranges_.empty() ? tile.positions : ranges_[row];
  }
  std::uint32_t probe_row(std::uint32_t row) const noexcept { return chosen_ ? (*chosen_)[row] : row; }
  contract::RowPair pair_of(std::uint32_t row, std::uint32_t position) const noexcept;

  Result<void> find_ranges();
  Result<void> count_tiles();
  std::uint64_t count_tile(Tile const& tile) const;
  std::span<contract::RowPair> write_tile(Tile const& tile, Cursor& at, std::uint64_t first,
                                          std::span<contract::RowPair> out) const;
  bool matches_any(RowTests& tests, Positions positions) const;
  Result<void> mark_probe(contract::RowMarks& marks, std::uint64_t first) const;
  Result<void> mark_ranges(contract::RowMarks& marks, std::uint64_t first) const;
  Result<void> mark_tested(contract::RowMarks& marks, std::uint64_t first) const;
  Result<void> mark_positions(contract::RowMarks& marks, std::uint64_t first) const;

  ConditionJoin join_;
  Side build_side_;
  std::vector<expr::ColumnWords> probe_;
  std::shared_ptr<BuildSlice const> build_;
  std::uint64_t probe_span_rows_ = 0;
  std::optional<std::vector<std::uint32_t>> chosen_;  // probe rows that may match; nullopt: all
  std::uint32_t probe_rows_ = 0;
  std::uint32_t tile_rows_ = 1;
  std::uint32_t row_tiles_ = 0;
  std::uint32_t position_tiles_ = 1;
  std::vector<Positions> ranges_;       // a probe row, once found; empty without an index
  std::vector<std::uint64_t> offsets_;  // pairs before each tile, then all; empty: not counted
  Cursor cursor_;
};

}  // namespace garuda::cpu
