// Steps of a pipeline: what becomes of a chunk on its way.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "garuda/error.hpp"
#include "operators/pipeline/chunk.hpp"
#include "operators/pipeline/predicate.hpp"
#include "operators/pipeline/slot_program.hpp"

namespace garuda::pipeline {

/// Takes the chunks that a step gives. Errors: those of the steps behind.
using Next = std::function<Result<void>(Chunk)>;

/// One step. Several threads push chunks at once, each its own.
class Step {
 public:
  virtual ~Step() = default;

  /// Slots that the step reads of every chunk; they are loaded before push().
  virtual std::vector<Slot> reads() const = 0;
  /// Slots that the chunks which it gives have beside those that it read.
  virtual std::vector<Slot> makes() const { return {}; }
  /// Whether chunks that the step gives hold rows by their numbers.
  virtual bool takes_rows() const noexcept = 0;
  /// Called before any push, and anew where rows are pushed for another result: what the steps behind read.
  virtual void set_live(Live live) = 0;
  /// Whether the step takes and gives chunks whose decimals of 128 bits have 64, with a field of their own.
  virtual bool takes_narrow() const noexcept { return false; }
  /// `slots`: whether what reads the slot takes such decimals, until set_live() is called again. Called before chunks
  /// are pushed that may have them.
  virtual void allow_narrow([[maybe_unused]] std::vector<bool> const& slots) {}
  /// `lane`: the thread's, below the number that the pipeline was made for.
  virtual Result<void> push(Chunk chunk, std::size_t lane, Next const& next) const = 0;
  /// Called once when all chunks were pushed: the rows that were held back, for the steps behind.
  virtual Result<std::vector<Chunk>> finish() const;
};

/// Rows for which a predicate is true.
class FilterStep final : public Step {
 public:
  explicit FilterStep(std::unique_ptr<Predicate> predicate) : predicate_(std::move(predicate)) {}

  std::vector<Slot> reads() const override { return predicate_->reads(); }
  bool takes_rows() const noexcept override { return true; }
  bool takes_narrow() const noexcept override { return true; }
  void set_live(Live live) override { live_ = std::move(live); }
  Result<void> push(Chunk chunk, std::size_t lane, Next const& next) const override;

 private:
  std::unique_ptr<Predicate> predicate_;
  Live live_;
};

/// A column for each of some expressions, which are evaluated for every row. Those that nothing reads are left out,
/// which have to be expressions that cannot fail.
class ComputeStep final : public Step {
 public:
  /// A computed column: its slot, whose field outlives the step.
  struct Computed {
    Slot slot = 0;
    Field field;
    std::unique_ptr<SlotProgram> program;
    std::optional<Field> narrow{};  ///< the field of decimals of 64 bits, where they may come so
  };

  explicit ComputeStep(std::vector<Computed> columns) : columns_(std::move(columns)) {}

  std::vector<Slot> reads() const override;
  std::vector<Slot> makes() const override;
  bool takes_rows() const noexcept override { return false; }
  bool takes_narrow() const noexcept override { return true; }
  void allow_narrow(std::vector<bool> const& slots) override;
  void set_live(Live live) override;
  Result<void> push(Chunk chunk, std::size_t lane, Next const& next) const override;

 private:
  std::vector<Computed> columns_;
  std::vector<bool> wanted_;
};

}  // namespace garuda::pipeline
