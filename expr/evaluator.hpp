// The host's evaluator of programs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "expr/functions/text_arena.hpp"
#include "expr/kernels/mask_kernels.hpp"
#include "expr/program.hpp"
#include "garuda/error.hpp"

namespace garuda::expr {

/// One step at work; the evaluator's own (functions/step_frame.hpp).
struct StepFrame;

/// Runs a program block by block; results stay until the next block. Used by one thread at a time.
class Evaluator {
 public:
  /// Borrows the program. Throws: std::bad_alloc.
  explicit Evaluator(Program const& program);
  Evaluator(Evaluator const&) = delete;
  Evaluator& operator=(Evaluator const&) = delete;
  ~Evaluator();

  /// The vectors of the program's inputs, for the caller to set before a run, of the program's kinds.
  std::span<Vector> inputs() noexcept { return std::span(registers_).first(program_.inputs.size()); }
  /// Whether the vector of an input may be narrow: every step that reads it computes with 64 bits where they hold what
  /// comes out.
  bool takes_narrow(std::size_t input) const;
  /// Runs the program on a block of `count` rows, at most kVectorRows. What the inputs refer to outlives the result.
  /// Errors: invalid_input, naming an expression that has no value for a row, where the program has steps with
  /// OnFailure::error.
  /// `into`: memory for values of the result, which lie there where the last step makes them; nullptr: the evaluator
  /// keeps them until it runs again. A narrow result lies in the evaluator's memory always.
  Result<Vector> run(std::size_t count, void* into = nullptr);
  /// Runs a program that compile() made with Nulls::false_ and that cannot fail. Returns a byte a row: 1 where the
  /// result is true, else 0.
  std::uint8_t const* mask(std::size_t count);

 private:
  Result<void> run_steps(std::size_t count);

  Program const& program_;
  MaskKernels const& kernels_;
  std::vector<Vector> registers_;
  std::vector<StepFrame> frames_;
  TextArena arena_;                                 // strings that steps make
  std::vector<std::string_view> strings_;           // constants of strings
  std::vector<Int128> memory_;                      // as the widest kind has to be aligned
  std::array<std::vector<Int128>, 3> wide_;         // of a step's operands that are narrow elsewhere
  std::array<std::uint8_t, kVectorRows> failed_{};  // by row: the step that runs has no value
};

}  // namespace garuda::expr
