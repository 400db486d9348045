// One program as steps of passes: which of its registers lie where, and what each of its steps becomes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/numbers/wide_integer.hpp"
#include "expr/program.hpp"
#include "garuda/error.hpp"
#include "operators/compute/expressions/expression_steps.hpp"
#include "shaders/compute/expressions/expression_layout.h"

namespace garuda::compute {

/// A step as it is written; expression_layout.h says what its parts are.
struct EmittedStep {
  std::uint32_t function = 0;
  std::uint32_t target = 0;
  std::uint32_t first = shaders::kNoOperand;
  std::uint32_t second = shaders::kNoOperand;
  std::uint32_t third = shaders::kNoOperand;
  std::uint32_t guard = shaders::kNoOperand;
  std::uint32_t form = shaders::kFailureIsError;
  std::array<std::uint32_t, 2> numbers{};
  std::array<std::uint64_t, 2> value{};
};

inline bool is_float(expr::Kind kind) noexcept { return kind == expr::Kind::float32 || kind == expr::Kind::float64; }

class ProgramLowering {
 public:
  /// All arguments outlive this.
  ProgramLowering(expr::Program const& program, std::span<ExpressionInput const> inputs, ExpressionSteps& steps);

  /// Writes the steps. Returns the register of the result. Errors: invalid_input, with the reason.
  Result<std::uint32_t> run();

  void emit(EmittedStep const& step);

 private:
  /// The register where one of the program's lies, which is loaded where it was not. Errors: as above.
  Result<std::uint32_t> place(expr::Register from);
  Result<std::uint32_t> take_register();
  Result<void> load(std::size_t input, std::uint32_t to);
  /// Whether a register is a column, and not what a step or a constant gives.
  bool is_input(expr::Register from) const noexcept { return from < program_.inputs.size(); }
  /// The bytes of a constant text; nullptr: the register holds something else, or null.
  std::string const* constant_bytes(expr::Register from) const noexcept;
  /// Puts words behind the steps, from a multiple of four words on; returns where, counted from the first of them.
  std::size_t keep_words(std::span<std::uint32_t const> words);
  std::size_t keep_view(expr::Register input);
  std::size_t keep_text(std::string_view text);
  /// Writes a step whose words 4 and, with `second`, 6 say where words are kept.
  void emit_kept(EmittedStep const& step, bool second);
  /// A register with a constant for the step that is written now.
  Result<std::uint32_t> constant(Int128 value);
  Result<std::uint32_t> power_of_ten_constant(std::int32_t exponent);
  void release_after(std::size_t step);

  /// Writes into a step the range that its result has to fit.
  static void set_fit(expr::Step const& step, expr::StepDetail const* detail, EmittedStep& emitted);

  Result<void> lower(expr::Step const& step);
  Result<void> lower_logic(expr::Step const& step, EmittedStep emitted);
  Result<void> lower_set(expr::Step const& step, EmittedStep emitted);
  Result<void> lower_comparison(expr::Step const& step, EmittedStep emitted);
  Result<void> lower_integers(expr::Step const& step, EmittedStep emitted);
  Result<void> lower_decimals(expr::Step const& step, EmittedStep emitted);
  Result<void> lower_rounding(expr::Step const& step, EmittedStep emitted);
  Result<void> lower_floats(expr::Step const& step, EmittedStep emitted);
  Result<void> lower_cast(expr::Step const& step, EmittedStep emitted);
  Result<void> lower_cast_to_float(expr::Step const& step, EmittedStep emitted);
  Result<void> lower_cast_of_decimal(expr::Step const& step, EmittedStep emitted);
  Result<void> lower_cast_to_decimal(expr::Step const& step, EmittedStep emitted);
  Result<void> lower_texts(expr::Step const& step, EmittedStep emitted);
  Result<void> lower_text_comparison(expr::Step const& step, EmittedStep emitted);
  Result<void> lower_text_set(expr::Step const& step, EmittedStep emitted);
  Result<void> lower_times(expr::Step const& step, EmittedStep emitted);
  Result<void> lower_units(EmittedStep emitted, DataType const& from, DataType const& to);

  /// Writes a value of a decimal in a finer scale to a new register. Rows beyond 128 bits are left to others.
  Result<std::uint32_t> scaled_up(std::uint32_t from, std::int32_t exponent);

  expr::StepDetail const* detail_of(expr::Step const& step) const;

  expr::Program const& program_;
  std::span<ExpressionInput const> inputs_;
  ExpressionSteps& steps_;
  std::vector<std::uint32_t> places_;     // by register of the program; kNoOperand: nowhere yet
  std::vector<std::size_t> last_uses_;    // by register of the program: the step that reads it last
  std::vector<std::uint32_t> temporary_;  // registers of the step that is written now
  std::uint32_t free_ = ~0U;              // a bit for each register
};

}  // namespace garuda::compute
