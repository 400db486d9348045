// What is tested of pairs of rows, a row of the probe side against blocks of the build side.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "expr/condition_parts.hpp"
#include "expr/evaluator.hpp"
#include "expr/kernels/mask_kernels.hpp"
#include "expr/pair_filter.hpp"
#include "operators/cpu/condition_join/build_rows.hpp"

namespace garuda::cpu {

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
  /// Of positions [first, first + count), at most expr::kVectorRows, those that match the row.
  std::uint32_t count(std::uint64_t first, std::size_t count);
  /// The same, which of them; returns their number.
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
