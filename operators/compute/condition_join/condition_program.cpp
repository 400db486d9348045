#include "operators/compute/condition_join/condition_program.hpp"

#include <algorithm>

#include "expr/comparators.hpp"
#include "expr/pair_program.hpp"
#include "expr/sides.hpp"
#include "shaders/compute/conditions/nested_join_layout.h"

namespace garuda::compute {
namespace {

using expr::PairStep;
using Kind = PairStep::Kind;
using Source = expr::WordOperand::Source;

std::uint32_t words_of(expr::OrderWords const& column) {
  return std::holds_alternative<std::span<std::uint64_t const>>(column.words) ? 2 : 1;
}

}  // namespace

bool fits_passes(expr::ConditionParts const& parts) {
  // Beside the rest: the cross comparisons before it, and whether an operand has a value.
  return expr::depth_of(parts.rest) + 2 <= shaders::kMostProgramDepth;
}

bool is_simple(expr::ConditionParts const& parts) {
  return parts.rest.empty() && (parts.cross.size() == 1 || parts.cross.size() == 2);
}

ConditionProgram::ConditionProgram(expr::PairCondition const& condition, expr::ConditionParts const& parts, Side probe)
    : condition_(&condition), probe_(probe), is_simple_(compute::is_simple(parts)) {
  GARUDA_EXPECTS(fits_passes(parts) && (!parts.cross.empty() || !parts.rest.empty()));
  auto const build = other_side(probe);
  for (auto const& comparison : parts.cross) {
    Compared compared;
    compared.comparator = build == Side::left ? comparison.comparator : expr::mirrored(comparison.comparator);
    compared.probe = position(probe, {comparison.column(probe), false});
    compared.build = position(build, {comparison.column(build), false});
    compared.words = words_of(condition.of(build)[comparison.column(build)]);
    compared_.push_back(compared);
    if (is_simple_) continue;
    steps_.push_back({shaders::kStepCompare,
                      static_cast<std::uint32_t>(compared.comparator),
                      compared.words,
                      {shaders::kBuildOperand, compared.build},
                      {shaders::kProbeOperand, compared.probe}});
    if (steps_.size() > 1) steps_.push_back({shaders::kStepAll, 0, 1, {}, {}});
  }
  bool const has_cross = !steps_.empty();
  for (auto const& step : parts.rest) {
    if (step.kind == Kind::comparison)
      add_comparison(condition.comparisons[step.comparison]);
    else
      steps_.push_back({step.kind == Kind::all ? shaders::kStepAll : shaders::kStepAny, 0, 1, {}, {}});
  }
  if (has_cross && !parts.rest.empty()) steps_.push_back({shaders::kStepAll, 0, 1, {}, {}});
}

std::size_t ConditionProgram::position(Side side, SideWords words) {
  auto& all = side == probe_ ? probe_words_ : build_words_;
  auto const found = std::ranges::find(all, words);
  if (found == all.end()) {
    all.push_back(words);
    return all.size() - 1;
  }
  return static_cast<std::size_t>(found - all.begin());
}

ConditionProgram::Operand ConditionProgram::operand_of(expr::WordOperand const& operand) {
  if (operand.source == Source::constant) return {shaders::kConstantOperand, operand.word};
  auto const side = operand.source == Source::left ? Side::left : Side::right;
  return {side == probe_ ? shaders::kProbeOperand : shaders::kBuildOperand, position(side, {operand.column, false})};
}

void ConditionProgram::add_comparison(expr::WordComparison const& comparison) {
  auto const words = [&](expr::WordOperand const& operand) -> std::uint32_t {
    if (operand.source == Source::constant) return 0;
    return words_of(condition_->of(operand.source == Source::left ? Side::left : Side::right)[operand.column]);
  };
  // Of constants alone both words are compared.
  auto const compared = std::max(words(comparison.first), words(comparison.second));
  steps_.push_back({shaders::kStepCompare, static_cast<std::uint32_t>(comparison.comparator),
                    compared == 0 ? 2 : compared, operand_of(comparison.first), operand_of(comparison.second)});
  add_validity(comparison.first);
  add_validity(comparison.second);
}

/// A comparison with null is false.
void ConditionProgram::add_validity(expr::WordOperand const& operand) {
  if (operand.source == Source::constant) return;
  auto const side = operand.source == Source::left ? Side::left : Side::right;
  if (condition_->of(side)[operand.column].valid.empty()) return;
  Operand const valid{side == probe_ ? shaders::kProbeOperand : shaders::kBuildOperand,
                      position(side, {operand.column, true})};
  steps_.push_back({shaders::kStepCompare, shaders::kEqual, 1, valid, {shaders::kConstantOperand, 1}});
  steps_.push_back({shaders::kStepAll, 0, 1, {}, {}});
}

std::vector<vk::SpecConstant> ConditionProgram::constants() const {
  if (!is_simple_) return {{shaders::kSpecComparisons, shaders::kProgram}};
  auto const& first = compared_.front();
  auto const& second = compared_.back();
  return {{shaders::kSpecComparisons, static_cast<std::uint32_t>(compared_.size())},
          {shaders::kSpecFirstComparator, static_cast<std::uint32_t>(first.comparator)},
          {shaders::kSpecSecondComparator, static_cast<std::uint32_t>(second.comparator)},
          {shaders::kSpecFirstWords, first.words},
          {shaders::kSpecSecondWords, second.words},
          {shaders::kSpecSameProbe, first.probe == second.probe ? 1U : 0U},
          {shaders::kSpecSameBuild, first.build == second.build ? 1U : 0U}};
}

std::vector<std::uint32_t> ConditionProgram::words(Addresses const& addresses) const {
  std::vector<std::uint32_t> words;
  auto const add = [&](Operand const& operand) {
    auto value = operand.value;
    if (operand.source != shaders::kConstantOperand)
      value = (operand.source == shaders::kProbeOperand ? addresses.probe : addresses.build)[operand.value];
    words.insert(words.end(),
                 {operand.source, static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)});
  };
  for (auto const& step : steps_) {
    words.insert(words.end(), {step.kind, step.comparator, step.words});
    if (step.kind == shaders::kStepCompare) {
      add(step.first);
      add(step.second);
    } else {
      words.insert(words.end(), shaders::kStepWords - 3, 0);
    }
  }
  return words;
}

}  // namespace garuda::compute
