// Conditions on pairs of rows, their tables of words, and what they match: the oracle of kernels of joins without keys.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "operators/contract/join_kernel.hpp"
#include "operators/contract/join_kind.hpp"

namespace garuda::testing {

/// The words that columns have.
enum class WordPattern : std::uint8_t {
  few,       ///< of twenty, in the middle of all
  spread,    ///< of as many as there are rows
  extremes,  ///< 0, 1, the greatest and the one before
  equal,     ///< one
};

struct ConditionCase {
  std::string name;
  std::uint64_t left_rows = 0;
  std::uint64_t right_rows = 0;
  bool is_wide = false;  ///< columns 0 and 1 have words of 64 bits; columns 2 the others
  bool has_nulls = false;
  WordPattern pattern = WordPattern::few;
  std::uint64_t seed = 1;
};

std::string to_string(ConditionCase const& condition_case);

/// Tables of three columns each, with a condition: "cross", "less", "equal", "not_equal", "band", "band_and_rest",
/// "either", "own_sides", "never", or "random", a tree of comparisons that the seed draws.
class ConditionProblem {
 public:
  explicit ConditionProblem(ConditionCase const& condition_case);
  ConditionProblem(ConditionProblem const&) = delete;
  ConditionProblem& operator=(ConditionProblem const&) = delete;

  expr::PairCondition const& condition() const noexcept { return condition_; }
  contract::ConditionSlice slice() const { return {{0, case_.left_rows}, {0, case_.right_rows}, std::nullopt}; }
  /// The pairs of a slice, ascending, counted from its first rows: every pair of rows is looked at, once
  /// for slices that follow each other. Until the next slice is asked for.
  std::vector<contract::RowPair> const& pairs_of(contract::ConditionSlice const& slice) const;

 private:
  struct Column {
    std::vector<std::uint32_t> words32;
    std::vector<std::uint64_t> words64;
    std::vector<std::uint64_t> valid;
    std::vector<bool> has_value;
  };

  void make_columns(Side side, std::uint64_t rows);
  void make_condition();
  void make_random(std::mt19937_64& random);
  void add(expr::Comparator comparator, expr::WordOperand first, expr::WordOperand second);
  bool is_match(std::uint64_t left, std::uint64_t right) const;

  ConditionCase case_;
  std::vector<Column> left_;
  std::vector<Column> right_;
  std::uint64_t constant_ = 0;  ///< in the middle of the words of columns 0 and 1
  expr::PairCondition condition_;
  struct Solved {
    std::optional<contract::RowSpan> left;
    std::optional<contract::RowSpan> right;
    std::vector<contract::RowPair> pairs;
  };
  mutable Solved solved_;  ///< by pairs_of()
};

/// Everything that a kernel says of a slice, against the oracle: counts, pairs in windows of `window` and from
/// positions here and there, marks of both sides.
void expect_solved(ConditionProblem const& problem, contract::ConditionSlice const& slice, contract::JoinKernel& kernel,
                   std::uint64_t window);

/// The names above, and one random condition a seed beside them.
std::vector<std::string> const& condition_names();

}  // namespace garuda::testing
