#include "expr/pair_program.hpp"

#include <algorithm>
#include <utility>

#include "garuda/error.hpp"

namespace garuda::expr {
namespace {

using Source = WordOperand::Source;

class Builder {
 public:
  explicit Builder(PairCondition const& condition) : condition_(condition) {}

  PairProgram run(std::span<PairStep const> steps) {
    // Registers of inputs come first, then those of constants.
    for (auto const& step : steps)
      if (step.kind == PairStep::Kind::comparison) add_columns(condition_.comparisons[step.comparison]);
    for (auto const& step : steps)
      if (step.kind == PairStep::Kind::comparison) add_constants(condition_.comparisons[step.comparison]);
    std::vector<Register> results;
    for (auto const& step : steps) {
      if (step.kind == PairStep::Kind::comparison) {
        results.push_back(add_comparison(condition_.comparisons[step.comparison]));
        continue;
      }
      auto const last = results.back();
      results.pop_back();
      auto const function = step.kind == PairStep::Kind::all ? Function::all : Function::any;
      results.back() = add_boolean(function, results.back(), last);
    }
    made_.program.result = results.front();
    return std::move(made_);
  }

 private:
  static PairColumn column_of(WordOperand const& operand) {
    return {operand.source == Source::left ? Side::left : Side::right, operand.column};
  }
  OrderWords const& words_of(PairColumn const& column) const { return condition_.of(column.side)[column.column]; }
  Kind kind_of(WordComparison const& comparison) const {
    for (auto const& operand : {comparison.first, comparison.second})
      if (operand.source != Source::constant) return kind_of(column_of(operand));
    return Kind::uint64;
  }
  Kind kind_of(PairColumn const& column) const {
    return std::holds_alternative<std::span<std::uint32_t const>>(words_of(column).words) ? Kind::uint32 : Kind::uint64;
  }

  void add_columns(WordComparison const& comparison) {
    for (auto const& operand : {comparison.first, comparison.second}) {
      if (operand.source == Source::constant) continue;
      auto const column = column_of(operand);
      if (std::ranges::find(made_.inputs, column) != made_.inputs.end()) continue;
      made_.inputs.push_back(column);
      made_.program.inputs.push_back(kind_of(column));
    }
  }
  void add_constants(WordComparison const& comparison) {
    for (auto const& operand : {comparison.first, comparison.second})
      if (operand.source == Source::constant)
        constants_.push_back(made_.program.add_constant({kind_of(comparison), false, operand.word}));
  }

  Register add_comparison(WordComparison const& comparison) {
    Step step;
    step.function = Function::compare;
    step.operands = kind_of(comparison);
    step.comparator = comparison.comparator;
    step.from = {register_of(comparison.first), register_of(comparison.second), kNoRegister};
    step.null_is_false = true;
    return made_.program.add(step);
  }
  Register register_of(WordOperand const& operand) {
    if (operand.source == Source::constant) return constants_[next_constant_++];
    return static_cast<Register>(std::ranges::find(made_.inputs, column_of(operand)) - made_.inputs.begin());
  }
  Register add_boolean(Function function, Register first, Register second = kNoRegister) {
    Step step;
    step.function = function;
    step.from = {first, second, kNoRegister};
    return made_.program.add(step);
  }

  PairCondition const& condition_;
  PairProgram made_;
  std::vector<Register> constants_;
  std::size_t next_constant_ = 0;
};

}  // namespace

PairProgram pair_program(PairCondition const& condition, std::span<PairStep const> steps) {
  GARUDA_EXPECTS(!steps.empty());
  return Builder(condition).run(steps);
}

std::size_t depth_of(std::span<PairStep const> steps) noexcept {
  std::size_t depth = 0;
  std::size_t most = 0;
  for (auto const& step : steps) {
    depth = step.kind == PairStep::Kind::comparison ? depth + 1 : depth - 1;
    most = std::max(most, depth);
  }
  return most;
}

}  // namespace garuda::expr
