// Expressions over the columns of chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "expr/columns.hpp"
#include "expr/evaluator.hpp"
#include "expr/program.hpp"
#include "garuda/error.hpp"
#include "operators/pipeline/chunk.hpp"

namespace garuda::pipeline {

/// An expression whose columns are slots, compiled. Safe to use from several threads.
class SlotProgram {
 public:
  /// Errors: those of expr::compile.
  static Result<std::unique_ptr<SlotProgram>> create(expr::Expression expression, expr::Nulls nulls);

  /// The slots that it reads, each once.
  std::vector<Slot> const& reads() const noexcept { return reads_; }
  DataType const& type() const noexcept { return type_; }

  /// Positions, ascending, of the rows for which a boolean expression is true. Requires: the chunk has the columns.
  /// Errors: invalid_input, naming an expression that has no value for a row.
  Result<RowNumbers> passing(Chunk const& chunk) const;
  /// The values of the expression for all rows. Errors: as above; those of ColumnWriter::append.
  Result<expr::WrittenColumn> values(Chunk const& chunk) const;

 private:
  SlotProgram() = default;

  template <class Body>
  Result<void> run(Chunk const& chunk, Body const& body) const;
  std::unique_ptr<expr::Evaluator> take_evaluator() const;

  std::vector<Slot> reads_;
  expr::Program program_;
  DataType type_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<expr::Evaluator>> idle_;  ///< that no thread uses
};

}  // namespace garuda::pipeline
