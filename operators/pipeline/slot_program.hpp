// Expressions over the columns of chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
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

  /// Values of the expression for all rows. Requires: the chunk has the columns.
  /// Errors: invalid_input, naming an expression that has no value for a row; those of ColumnWriter::append.
  Result<expr::WrittenColumn> values(Chunk const& chunk) const;
  /// The same as a column of narrow_type(); nullopt: 64 bits do not hold the values of all blocks. Requires: values are
  /// decimals of 128 bits. Errors: as above.
  Result<std::optional<expr::WrittenColumn>> narrow_values(Chunk const& chunk) const;
  /// Decimals of 64 bits with the digits of type(), which may be more than such a type has elsewhere.
  DataType narrow_type() const;

  /// The program at work on the rows of one chunk, by one thread.
  class Run {
   public:
    /// Borrows both. Errors: those of ColumnReader::create.
    static Result<Run> create(SlotProgram const& program, Chunk const& chunk);
    Run(Run&&) = default;
    Run& operator=(Run&&) = delete;
    ~Run();

    /// Values for rows [begin, begin + count), which stay until the next ones, or lie in `into` as Evaluator::run has
    /// it. Errors: invalid_input, as above.
    Result<expr::Vector> values(std::uint64_t begin, std::size_t count, void* into = nullptr);
    /// Values for rows begin + rows[i]. Errors: as above.
    Result<expr::Vector> values(std::uint64_t begin, std::span<std::uint16_t const> rows);

   private:
    Run(SlotProgram const& program, Table table) : program_(&program), table_(std::move(table)) {}

    SlotProgram const* program_;
    Table table_;
    std::vector<expr::ColumnReader> readers_;
    std::unique_ptr<expr::Evaluator> evaluator_;
  };

 private:
  SlotProgram() = default;

  std::unique_ptr<expr::Evaluator> take_evaluator() const;
  Result<std::optional<expr::WrittenColumn>> write(Chunk const& chunk, DataType const& type) const;

  std::vector<Slot> reads_;
  expr::Program program_;
  DataType type_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<expr::Evaluator>> idle_;  ///< No thread uses these.
};

}  // namespace garuda::pipeline
