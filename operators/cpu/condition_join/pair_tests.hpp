// The side of a join without keys that other rows are compared with, its columns in the order in which they are read;
// and what is tested of a row of the other side and blocks of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "expr/condition_parts.hpp"
#include "expr/evaluator.hpp"
#include "expr/kernels/mask_kernels.hpp"
#include "expr/pair_filter.hpp"
#include "garuda/error.hpp"
#include "operators/contract/join_kernel.hpp"

namespace garuda::cpu {

/// Words and validity of a column by position. Borrowed.
struct PositionColumn {
  std::uint32_t const* words32 = nullptr;
  std::uint64_t const* words64 = nullptr;
  std::uint8_t const* valid = nullptr;  ///< a byte a position, 0 or 1; nullptr: all have a value

  bool is_wide() const noexcept { return words64 != nullptr; }
};

/// Rows that may match, by position: in the order of the table, or of a column. Read-only once made, by any threads.
class BuildRows {
 public:
  /// Takes the rows of `span`. `order`: their numbers, from the span's first, in the order of positions;
  /// nullopt: all, as they are, so that columns without nulls are borrowed. `used`: the columns that will be read.
  /// Errors: out_of_memory.
  static Result<BuildRows> create(expr::PairCondition const& condition, Side side, contract::RowSpan span,
                                  std::optional<std::vector<std::uint32_t>> order,
                                  std::vector<std::uint32_t> const& used);

  std::uint64_t size() const noexcept { return size_; }
  std::uint32_t row(std::uint64_t position) const noexcept {
    return order_ ? (*order_)[position] : static_cast<std::uint32_t>(position);
  }
  PositionColumn const& column(std::uint32_t column) const { return columns_[column]; }

 private:
  template <class Word>
  Result<Word const*> in_order(Word const* words);
  Result<std::uint8_t const*> validity(expr::ColumnWords const& column);

  std::uint64_t size_ = 0;
  std::optional<std::vector<std::uint32_t>> order_;
  std::vector<PositionColumn> columns_;
  std::vector<AlignedBuffer> owned_;
};

/// The tests of a join: bounds of build columns, and the rest of the condition.
class PairTests {
 public:
  /// `parts` are of `condition`. `sorted_by`: a column of the build side whose bounds need no test, because its
  /// positions are in its order.
  PairTests(expr::PairCondition const& condition, expr::ConditionParts const& parts, Side build,
            std::optional<std::uint32_t> sorted_by = std::nullopt);

  bool any() const noexcept { return !bounds_.empty() || rest_; }
  /// Columns of the build side that are read.
  std::vector<std::uint32_t> build_columns() const;

 private:
  friend class RowTests;

  Side build_;
  std::vector<expr::ColumnBounds> bounds_;
  std::optional<expr::PairProgram> rest_;
};

/// Tests one probe row at a time. Used by one thread; what it is made of outlives it.
class RowTests {
 public:
  RowTests(PairTests const& tests, std::vector<expr::ColumnWords> const& probe, BuildRows const& build);

  /// Goes on to a probe row; false when its bounds leave no word.
  bool begin(std::uint64_t probe_row);
  /// The number of positions in [first, first + count), at most expr::kVectorRows, that match the row.
  std::uint32_t count(std::uint64_t first, std::size_t count);
  /// Sets `mask` for the positions that match; returns their number.
  std::uint32_t mask(std::uint64_t first, std::size_t count, std::uint8_t* mask);

 private:
  using Mask = std::array<std::uint8_t, expr::kVectorRows>;
  struct Range {
    PositionColumn column;
    std::uint64_t low = 0;
    std::uint64_t span = 0;
  };

  void mask_bounds(std::uint64_t first, std::size_t count, std::uint8_t* mask) const;
  void set_probe_row();
  std::uint8_t const* mask_rest(std::uint64_t first, std::size_t count);

  PairTests const& tests_;
  std::vector<expr::ColumnWords> const& probe_;
  BuildRows const& build_;
  expr::MaskKernels const& kernels_;
  std::uint64_t row_ = 0;
  std::vector<Range> ranges_;
  std::optional<expr::Evaluator> rest_;
  std::vector<std::uint64_t> words_;  // of the probe row, an input
};

}  // namespace garuda::cpu
