// A condition taken apart: the comparisons of its conjuncts, the rows and words that these leave, and how many pairs,
// from samples of both tables.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "expr/condition.hpp"
#include "expr/vector.hpp"

namespace garuda::expr {

/// A conjunct that orders a column of the left table by one of the right: left `comparator` right, never not_equal.
struct CrossComparison {
  Comparator comparator = Comparator::equal;
  std::uint32_t left = 0;   ///< column of PairCondition::left
  std::uint32_t right = 0;  ///< of PairCondition::right

  std::uint32_t column(Side side) const noexcept { return side == Side::left ? left : right; }
};

/// The conjuncts of the outermost `and`.
struct ConditionParts {
  bool is_never = false;  ///< a conjunct of constants is false: no pair matches
  std::vector<CrossComparison> cross;
  std::vector<PairStep> left;   ///< comparisons of left columns, and constants, alone, joined by `and`; or none
  std::vector<PairStep> right;  ///< likewise
  std::vector<PairStep> rest;   ///< all others, joined by `and`; none: there are no others

  std::vector<PairStep> const& of(Side side) const noexcept { return side == Side::left ? left : right; }
};

/// The condition is true of a pair if and only if all of its parts are. Cost: its steps.
ConditionParts parts_of(PairCondition const& condition);

/// Words [low, high]; none when low > high.
struct WordRange {
  std::uint64_t low = 0;
  std::uint64_t high = ~std::uint64_t{0};

  bool is_empty() const noexcept { return low > high; }
};

/// Leaves in `range` the words w with: w `comparator` word. Requires: the comparator is not not_equal.
constexpr void narrow(WordRange& range, Comparator comparator, std::uint64_t word) noexcept {
  constexpr auto kMost = ~std::uint64_t{0};
  switch (comparator) {
    case Comparator::less:
      if (word == 0)
        range = {1, 0};
      else
        range.high = word - 1 < range.high ? word - 1 : range.high;
      return;
    case Comparator::less_equal:
      range.high = word < range.high ? word : range.high;
      return;
    case Comparator::greater:
      if (word == kMost)
        range = {1, 0};
      else
        range.low = word + 1 > range.low ? word + 1 : range.low;
      return;
    case Comparator::greater_equal:
      range.low = word > range.low ? word : range.low;
      return;
    default:
      range.low = word > range.low ? word : range.low;
      range.high = word < range.high ? word : range.high;
  }
}

/// A column from some row on, as kernels read it. Borrowed.
class ColumnWords {
 public:
  ColumnWords() = default;
  /// Row 0 is row `first` of the column.
  ColumnWords(OrderWords const& column, std::uint64_t first);

  bool is_wide() const noexcept { return words64_ != nullptr; }
  bool has_nulls() const noexcept { return valid_ != nullptr; }
  std::uint32_t const* words32() const noexcept { return words32_; }
  std::uint64_t const* words64() const noexcept { return words64_; }
  std::uint64_t word(std::uint64_t row) const noexcept { return words64_ != nullptr ? words64_[row] : words32_[row]; }
  bool is_valid(std::uint64_t row) const noexcept {
    return valid_ == nullptr || (valid_[(first_ + row) / 64] >> (first_ + row) % 64 & 1) != 0;
  }
  /// The words of `count` rows from `row` on, at most kVectorRows. `valid`: memory for so many bytes.
  Vector vector(std::uint64_t row, std::size_t count, std::uint8_t* valid) const;

 private:
  std::uint32_t const* words32_ = nullptr;
  std::uint64_t const* words64_ = nullptr;
  std::uint64_t const* valid_ = nullptr;
  std::uint64_t first_ = 0;
};

/// The cross comparisons of one column of the build side: build word `comparator` word of a probe column.
struct ColumnBounds {
  struct Bound {
    Comparator comparator = Comparator::equal;
    std::uint32_t probe_column = 0;
  };
  std::uint32_t column = 0;
  std::vector<Bound> bounds;

  /// Returns the words of the column that match a probe row, whose compared columns have values. `probe`: columns of
  /// the probe side.
  WordRange range_of(std::vector<ColumnWords> const& probe, std::uint64_t row) const noexcept {
    WordRange range;
    for (auto const& bound : bounds) narrow(range, bound.comparator, probe[bound.probe_column].word(row));
    return range;
  }
};

/// Returns the bounds of each column of the build side that has any.
std::vector<ColumnBounds> bounds_of(ConditionParts const& parts, Side build);

std::vector<ColumnWords> columns_of(PairCondition const& condition, Side side, std::uint64_t first);

/// The rows of a side that may match at all: for which the conjuncts of that side alone are true, and that have values
/// in all columns that the cross comparisons compare. Numbers from `first` of `rows` rows, ascending; nullopt: all.
std::optional<std::vector<std::uint32_t>> rows_that_may_match(PairCondition const& condition,
                                                              ConditionParts const& parts, Side side,
                                                              std::uint64_t first, std::uint64_t rows);

/// Pairs of all rows of both tables that the cross comparisons of a build column leave, about: as many as a sorted
/// index over it finds. Cost: some 2^12 rows of each side, sorted and searched.
double pairs_in_range(PairCondition const& condition, ConditionParts const& parts, Side build, std::uint32_t column);

/// Pairs that match, about. Where comparisons bound a column, those of a sample of its ranges are tested; else pairs of
/// rows here and there. Cost: 2^16 pairs tested at most.
double expected_pairs(PairCondition const& condition, std::uint64_t left_rows, std::uint64_t right_rows);

}  // namespace garuda::expr
