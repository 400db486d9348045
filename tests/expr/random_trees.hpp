// Random typed trees, and columns of random values, extremes among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/numbers/wide_integer.hpp"
#include "expr/program.hpp"
#include "expr/vector.hpp"
#include "tests/expr/row_values.hpp"

namespace garuda::expr {

/// Types of the columns that trees compute with; each has two columns, the second one without nulls.
std::vector<DataType> const& tree_types();

class Trees {
 public:
  explicit Trees(std::uint32_t seed) : random_(seed) {}

  /// A tree of that type whose calls are `depth` deep at most.
  Expression of(DataType const& type, int depth);
  std::size_t below(std::size_t end) { return random_() % end; }
  /// A text, a number or a date among them.
  std::string some_text();

 private:
  Expression boolean(int depth);
  Expression integer(DataType const& type, int depth);
  Expression number(DataType const& type, int depth);
  Expression decimal(DataType const& type, int depth);
  Expression text(int depth);
  Expression moment(DataType const& type, int depth);
  Expression choice(DataType const& type, int depth);
  Expression leaf(DataType const& type);
  Expression literal(DataType const& type);
  OnFailure failure() { return static_cast<OnFailure>(below(3)); }
  /// A type of those that a predicate takes.
  DataType type_where(bool (*holds)(DataType const&));

  std::mt19937 random_;
};

/// A column of random values, as the evaluator and the interpreter have it.
struct RandomColumn {
  std::vector<Int128> memory = std::vector<Int128>(kVectorRows);
  std::vector<std::uint8_t> valid = std::vector<std::uint8_t>(kVectorRows, 1);
  std::vector<Cell> cells = std::vector<Cell>(kVectorRows);
  Vector vector;

  RandomColumn(DataType const& type, std::size_t count, bool has_nulls, Trees& random);
};

}  // namespace garuda::expr
