#include "expr/pair_filter.hpp"

#include <algorithm>
#include <utility>
#include <variant>

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
        constants_.push_back(made_.program.add_constant({kind_of(comparison), false, {operand.word}, {}}));
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

PairFilter::PairFilter(PairCondition const& condition)
    : condition_(condition), program_(pair_program(condition, condition.steps)), evaluator_(program_.program) {
  auto const count = program_.inputs.size();
  words_.resize(count * kVectorRows);
  valid_.resize(count * kVectorRows);
  for (std::size_t i = 0; i < count; ++i)
    evaluator_.inputs()[i] = {program_.program.inputs[i], false, words_.data() + i * kVectorRows, nullptr};
}

/// Fetches what an input has for rows of its side.
template <class Row>
void PairFilter::fetch(std::size_t input, std::span<Row const> rows) {
  auto const& column = condition_.of(program_.inputs[input].side)[program_.inputs[input].column];
  std::visit(
      [&]<class Word>(std::span<Word const> words) {
        auto* const to = reinterpret_cast<Word*>(words_.data() + input * kVectorRows);
        for (std::size_t i = 0; i < rows.size(); ++i) to[i] = words[rows[i]];
      },
      column.words);
  if (column.valid.empty()) return;
  auto* const valid = valid_.data() + input * kVectorRows;
  for (std::size_t i = 0; i < rows.size(); ++i)
    valid[i] = static_cast<std::uint8_t>(column.valid[rows[i] / 64] >> (rows[i] % 64) & 1);
  evaluator_.inputs()[input].valid = valid;
}

template <class Row>
void PairFilter::test(std::span<Row const> left, std::span<Row const> right, std::span<std::uint8_t> passes) {
  GARUDA_EXPECTS(left.size() == right.size() && left.size() == passes.size());
  for (std::size_t first = 0; first < left.size(); first += kVectorRows) {
    auto const count = std::min(kVectorRows, left.size() - first);
    for (std::size_t i = 0; i < program_.inputs.size(); ++i)
      fetch(i, (program_.inputs[i].side == Side::left ? left : right).subspan(first, count));
    std::copy_n(evaluator_.mask(count), count, passes.data() + first);
  }
}

template void PairFilter::test<std::uint32_t>(std::span<std::uint32_t const>, std::span<std::uint32_t const>,
                                              std::span<std::uint8_t>);
template void PairFilter::test<std::uint64_t>(std::span<std::uint64_t const>, std::span<std::uint64_t const>,
                                              std::span<std::uint8_t>);

}  // namespace garuda::expr
