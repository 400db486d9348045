// A condition on pairs of rows as a program of the evaluator, and which pairs it is true of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "expr/condition.hpp"
#include "expr/evaluator.hpp"
#include "expr/program.hpp"
#include "expr/sides.hpp"

namespace garuda::expr {

/// A column of PairCondition::left or right.
struct PairColumn {
  Side side = Side::left;
  std::uint32_t column = 0;

  friend bool operator==(PairColumn const&, PairColumn const&) = default;
};

struct PairProgram {
  Program program;                 ///< It is true where the condition is; null counts as false. It cannot fail.
  std::vector<PairColumn> inputs;  ///< The columns that it reads, as the program's inputs.
};

/// The program of `steps` of a condition. Requires: there are some.
PairProgram pair_program(PairCondition const& condition, std::span<PairStep const> steps);

/// Results that steps have at a time, at most.
std::size_t depth_of(std::span<PairStep const> steps) noexcept;

/// Evaluates a condition block by block of pairs. Used by one thread at a time.
class PairFilter {
 public:
  /// Borrows the condition, whose words the host can read. Requires: it has steps.
  explicit PairFilter(PairCondition const& condition);

  /// Sets passes[i] to 1 where the condition is true of rows left[i] and right[i] of the tables, else to 0. Requires
  /// spans of one length. Row: u32 or u64.
  template <class Row>
  void test(std::span<Row const> left, std::span<Row const> right, std::span<std::uint8_t> passes);

 private:
  template <class Row>
  void fetch(std::size_t input, std::span<Row const> rows);

  PairCondition const& condition_;
  PairProgram program_;
  Evaluator evaluator_;
  std::vector<std::uint64_t> words_;  // kVectorRows an input: those of the block
  std::vector<std::uint8_t> valid_;   // likewise
};

}  // namespace garuda::expr
