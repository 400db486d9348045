// A condition on pairs of rows as a program of the evaluator.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "expr/condition.hpp"
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

}  // namespace garuda::expr
