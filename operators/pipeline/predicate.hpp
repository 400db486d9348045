// Conditions of rows, conjunct by conjunct.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "expr/program.hpp"
#include "garuda/error.hpp"
#include "operators/pipeline/chunk.hpp"
#include "operators/pipeline/slot_program.hpp"

namespace garuda::pipeline {

/// A boolean expression whose columns are slots. Its conjuncts are evaluated one after the other, each for the rows
/// that those before it leave, so that a row for which one is false or null cannot fail in a later one. Those that
/// cannot fail come in the order of what they cost, up to the first that can. Safe to use from several threads.
class Predicate {
 public:
  /// Errors: those of expr::compile.
  static Result<std::unique_ptr<Predicate>> create(expr::Expression const& expression);

  /// The slots that it reads, each once.
  std::vector<Slot> reads() const;

  /// Positions, ascending, of the rows for which it is true. Requires: the chunk has the columns.
  /// Errors: invalid_input, naming an expression that has no value for a row.
  Result<RowNumbers> passing(Chunk const& chunk) const;

 private:
  struct Conjunct {
    std::unique_ptr<SlotProgram> program;
    bool can_fail = false;
    bool is_cheap = false;  ///< compares a few numbers
  };
  class Block;

  Predicate() = default;

  std::vector<Conjunct> conjuncts_;
};

}  // namespace garuda::pipeline
