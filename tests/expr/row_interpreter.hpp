// An interpreter of expressions that takes a row at a time, in integers that cannot overflow.
#pragma once

#include <vector>

#include "expr/program.hpp"
#include "tests/expr/row_values.hpp"

namespace garuda::expr {

class Interpreter {
 public:
  explicit Interpreter(std::vector<Cell> const& row) : row_(row) {}

  /// Throws Failure where the row has no value though it must.
  Cell value(Expression const& expression) const;

 private:
  Cell value_of_call(Expression const& expression, Cell const& first) const;
  Cell chosen(Expression const& expression) const;
  Cell is_in(Expression const& expression) const;

  std::vector<Cell> const& row_;
};

}  // namespace garuda::expr
