// A condition on pairs of rows as kernels see it: words whose order is that of the values, no types and no nulls but as
// bits.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "garuda/condition.hpp"
#include "garuda/join.hpp"
#include "garuda/table.hpp"

namespace garuda::expr {

using garuda::Comparator;

/// A column that a condition compares, a word a row of its table, every word legal. Columns and constants that are
/// compared with each other, directly or through third ones, are one encoding: their words are of one width, and
/// compare, as unsigned numbers, as their values do.
struct OrderWords {
  std::variant<std::span<std::uint32_t const>, std::span<std::uint64_t const>> words;
  std::span<std::uint64_t const> valid{};  ///< bit i of word i / 64: row i has a value; empty: all have
  Location location{};                     ///< of both

  /// Words have 64 bits, not 32.
  bool is_wide() const noexcept { return std::holds_alternative<std::span<std::uint64_t const>>(words); }
};

/// One side of a comparison.
struct WordOperand {
  enum class Source : std::uint8_t { left, right, constant };

  Source source = Source::constant;
  std::uint32_t column = 0;  ///< of PairCondition::left or right
  std::uint64_t word = 0;    ///< of a constant
};

struct WordComparison {
  Comparator comparator = Comparator::equal;
  WordOperand first;
  WordOperand second;
};

/// A step of a condition in postfix order.
struct PairStep {
  enum class Kind : std::uint8_t { comparison, all, any };  ///< push its result; combine the last two results

  Kind kind = Kind::comparison;
  std::uint32_t comparison = 0;
};

/// The condition that pairs match by, besides equal keys: those for which `steps` leave true. A comparison with null is
/// false here: `not` has been moved into the comparators, and of `and` and `or` alone the same pairs come out true in
/// three-valued logic and in this one. Without steps every pair matches: the cross product. The words outlive whoever
/// holds the condition.
struct PairCondition {
  std::vector<OrderWords> left;   ///< columns of the left table that are compared
  std::vector<OrderWords> right;  ///< of the right one
  std::vector<WordComparison> comparisons;
  std::vector<PairStep> steps;

  std::vector<OrderWords> const& of(Side side) const noexcept { return side == Side::left ? left : right; }
};

}  // namespace garuda::expr
