// What is tested of pairs of rows, a row of the probe side against blocks of the build side.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "operators/cpu/condition_join/build_rows.hpp"
#include "operators/cpu/condition_join/mask_kernels.hpp"
#include "operators/keyless/condition_parts.hpp"

namespace garuda::cpu {

/// What the cross comparisons of one column of the build side say: build word `comparator` word of a probe column.
struct ColumnBounds {
  struct Bound {
    contract::Comparator comparator = contract::Comparator::equal;
    std::uint32_t probe_column = 0;
  };
  std::uint32_t column = 0;
  std::vector<Bound> bounds;

  /// The words of the column that match a probe row. `probe`: columns of the probe side.
  keyless::WordRange range_of(std::vector<keyless::ColumnWords> const& probe, std::uint64_t row) const noexcept {
    keyless::WordRange range;
    for (auto const& bound : bounds) keyless::narrow(range, bound.comparator, probe[bound.probe_column].word(row));
    return range;
  }
};

/// Those of each column of the build side that has any.
std::vector<ColumnBounds> bounds_of(keyless::ConditionParts const& parts, Side build);

/// The tests of a join: bounds of build columns, and the rest of the condition. Borrows the condition.
class PairTests {
 public:
  /// `parts` are of `condition`. `sorted_by`: a column of the build side whose bounds need no test, because its
  /// positions are in its order.
  PairTests(contract::Condition const& condition, keyless::ConditionParts const& parts, Side build,
            std::optional<std::uint32_t> sorted_by = std::nullopt);

  bool any() const noexcept { return !bounds_.empty() || !rest_.empty(); }
  /// Columns of the build side that are read.
  std::vector<std::uint32_t> build_columns() const;

 private:
  friend class RowTests;

  contract::Condition const* condition_;
  Side build_;
  std::vector<ColumnBounds> bounds_;
  std::vector<contract::ConditionStep> rest_;
  std::size_t depth_ = 0;  ///< masks that the rest has at a time, at most
};

/// Tests one probe row at a time. Used by one thread; what it is made of outlives it.
class RowTests {
 public:
  RowTests(PairTests const& tests, std::vector<keyless::ColumnWords> const& probe, BuildRows const& build);

  /// Goes on to a probe row; false when its bounds leave no word.
  bool begin(std::uint64_t probe_row);
  /// Of positions [first, first + count), at most kMaskBlock, those that match the row.
  std::uint32_t count(std::uint64_t first, std::size_t count);
  /// The same, which of them; returns their number.
  std::uint32_t mask(std::uint64_t first, std::size_t count, std::uint8_t* mask);

 private:
  using Mask = std::array<std::uint8_t, kMaskBlock>;
  struct Range {
    PositionColumn column;
    std::uint64_t low = 0;
    std::uint64_t span = 0;
  };

  void mask_bounds(std::uint64_t first, std::size_t count, std::uint8_t* mask) const;
  void mask_rest(std::uint64_t first, std::size_t count);
  void mask_comparison(contract::Comparison const& comparison, std::uint64_t first, std::size_t count,
                       std::uint8_t* mask) const;
  /// A constant, or the probe row's word; nullopt: null.
  std::optional<std::uint64_t> word_of(contract::Operand const& operand) const;
  bool is_of_build(contract::Operand const& operand) const;

  PairTests const& tests_;
  std::vector<keyless::ColumnWords> const& probe_;
  BuildRows const& build_;
  MaskKernels const& kernels_;
  std::uint64_t row_ = 0;
  std::vector<Range> ranges_;
  std::vector<Mask> masks_;  // of the rest, a stack
};

}  // namespace garuda::cpu
