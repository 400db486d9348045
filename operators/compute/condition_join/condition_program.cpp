#include "operators/compute/condition_join/condition_program.hpp"

#include <algorithm>

#include "expr/comparators.hpp"
#include "expr/pair_filter.hpp"
#include "expr/sides.hpp"
#include "shaders/compute/conditions/conditions_layout.h"

namespace garuda::compute {
namespace {

using Kind = expr::PairStep::Kind;
using Source = expr::WordOperand::Source;
using Operand = ConditionSteps::Operand;

std::uint32_t words_of(expr::OrderWords const& column) { return column.is_wide() ? 2 : 1; }

constexpr char const* kTestPhase = "test pairs";

PassShape filter_shape(bool many_words) {
  return {"compute/conditions/filter_pairs.comp",
          0,
          1,
          sizeof(shaders::FilterPairsPush),
          {{shaders::kSpecManyWords, many_words ? 1U : 0U}}};
}

}  // namespace

void ConditionSteps::compare(std::uint32_t kind, Comparator comparator, std::uint32_t words, Operand const& first,
                             Operand const& second) {
  words_.insert(words_.end(), {kind, static_cast<std::uint32_t>(comparator), words});
  for (auto const& operand : {first, second})
    words_.insert(words_.end(),
                  {operand.source | operand.form << shaders::kOperandFormShift,
                   static_cast<std::uint32_t>(operand.value), static_cast<std::uint32_t>(operand.value >> 32)});
}

void ConditionSteps::combine(Kind kind) {
  words_.push_back(kind == Kind::all ? shaders::kStepAll : shaders::kStepAny);
  words_.insert(words_.end(), shaders::kStepWords - 1, 0);
}

void ConditionSteps::and_valid(Operand const& valid) {
  compare(shaders::kStepCompare, Comparator::equal, 1, valid,
          {shaders::kConstantOperand, 1, valid.form == 0 ? 0 : shaders::kColumnU32});
  combine(Kind::all);
}

bool fits_program(std::span<expr::PairStep const> steps, std::size_t beside) noexcept {
  return expr::depth_of(steps) + beside <= shaders::kMostProgramDepth;
}

bool fits_passes(expr::ConditionParts const& parts) {
  // Beside the rest: the cross comparisons before it, and whether an operand has a value.
  return fits_program(parts.rest, 2);
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
    bool const is_first = steps_.words().empty();
    steps_.compare(shaders::kStepCompare, compared.comparator, compared.words, {shaders::kBuildOperand, compared.build},
                   {shaders::kProbeOperand, compared.probe});
    if (!is_first) steps_.combine(Kind::all);
  }
  bool const has_cross = !steps_.words().empty();
  steps_.add(parts.rest, [&](std::uint32_t comparison) { add_comparison(condition.comparisons[comparison]); });
  if (has_cross && !parts.rest.empty()) steps_.combine(Kind::all);
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

Operand ConditionProgram::operand_of(expr::WordOperand const& operand, bool is_validity) {
  if (operand.source == Source::constant) return {shaders::kConstantOperand, operand.word};
  auto const side = operand.source == Source::left ? Side::left : Side::right;
  return {side == probe_ ? shaders::kProbeOperand : shaders::kBuildOperand,
          position(side, {operand.column, is_validity})};
}

void ConditionProgram::add_comparison(expr::WordComparison const& comparison) {
  auto const column_of = [&](expr::WordOperand const& operand) {
    return operand.source == Source::constant
               ? nullptr
               : &condition_->of(operand.source == Source::left ? Side::left : Side::right)[operand.column];
  };
  std::uint32_t words = 0;
  for (auto const& operand : {comparison.first, comparison.second})
    if (auto const* const column = column_of(operand)) words = std::max(words, words_of(*column));
  // Both words are compared where both operands are constants.
  steps_.compare(shaders::kStepCompare, comparison.comparator, words == 0 ? 2 : words, operand_of(comparison.first),
                 operand_of(comparison.second));
  for (auto const& operand : {comparison.first, comparison.second})
    if (auto const* const column = column_of(operand); column != nullptr && !column->valid.empty())
      steps_.and_valid(operand_of(operand, true));
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
  auto words = steps_.words();
  for (auto step = words.begin(); step != words.end(); step += shaders::kStepWords) {
    if (*step != shaders::kStepCompare) continue;
    for (auto const operand : {step + 3, step + 6}) {
      if (*operand == shaders::kConstantOperand) continue;
      auto const value = (*operand == shaders::kProbeOperand ? addresses.probe : addresses.build)[operand[1]];
      operand[1] = static_cast<std::uint32_t>(value);
      operand[2] = static_cast<std::uint32_t>(value >> 32);
    }
  }
  return words;
}

Result<void> record_pair_filter(ComputeContext& context, TestedPairs const& tested, vk::Buffer const& program,
                                std::uint64_t steps) {
  if (tested.pairs == 0) return {};
  shaders::FilterPairsPush push{};
  push.left_rows = tested.left_rows;
  push.right_rows = tested.right_rows;
  push.program = program.address();
  push.marks = tested.marks;
  push.left_marks = tested.left_marks;
  push.right_marks = tested.right_marks;
  push.num_steps = static_cast<std::uint32_t>(steps);
  push.num_pairs = static_cast<std::uint32_t>(tested.pairs);
  return context.dispatch_each(kTestPhase, filter_shape(tested.many_words), push, tested.pairs);
}

std::vector<vk::ComputePipelineSpec> pair_filter_pipelines(ComputeTuning const& tuning) {
  return {compute_pipeline(filter_shape(false), tuning), compute_pipeline(filter_shape(true), tuning)};
}

}  // namespace garuda::compute
