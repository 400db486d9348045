#include "operators/device/join/device_condition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/type_rows.hpp"
#include "expr/pair_program.hpp"
#include "operators/device/join/compared_columns.hpp"
#include "operators/device/join/joined_tables.hpp"
#include "shaders/compute/conditions/filter_pairs_layout.h"
#include "shaders/compute/keys/column_values_layout.h"

namespace garuda::device {
namespace {

using expr::PairStep;
using Source = expr::WordOperand::Source;

/// Beside them whether an operand has a value.
Result<void> check_depth(expr::ResolvedCondition const& condition) {
  auto const most = expr::depth_of(condition.steps);
  if (most + 1 <= shaders::kMostProgramDepth) return {};
  return fail(ErrorCode::invalid_input, fmt::format("a condition on a device has at most {} results at a time: {}",
                                                    shaders::kMostProgramDepth - 1, most));
}

class Steps {
 public:
  Steps(resolve::JoinRequest const& request, ComparedColumns const& compared, ComparedValues const& values)
      : tables_(request), condition_(*request.columns.condition), compared_(compared), values_(values) {
    for (auto const& step : condition_.steps) {
      if (step.kind == PairStep::Kind::comparison) {
        add(condition_.comparisons[step.comparison]);
      } else {
        add_combination(step.kind == PairStep::Kind::all ? shaders::kStepAll : shaders::kStepAny);
      }
    }
  }

  std::vector<std::uint32_t> take() { return std::move(words_); }

 private:
  static Side side_of(expr::ResolvedOperand const& operand) {
    return operand.source == Source::left ? Side::left : Side::right;
  }
  static bool is_constant(expr::ResolvedOperand const& operand) { return operand.source == Source::constant; }
  expr::ConditionColumn const& column_of(expr::ResolvedOperand const& operand) const {
    return condition_.columns(side_of(operand))[operand.index];
  }

  void add_step(std::uint32_t kind, std::uint32_t comparator, std::uint32_t compared) {
    words_.insert(words_.end(), {kind, comparator, compared});
  }
  void add_combination(std::uint32_t kind) {
    add_step(kind, 0, 0);
    words_.insert(words_.end(), shaders::kStepWords - 3, 0);
  }
  void add_operand(std::uint32_t source, std::uint32_t form, std::uint64_t value) {
    words_.insert(words_.end(), {source | form << shaders::kOperandFormShift, static_cast<std::uint32_t>(value),
                                 static_cast<std::uint32_t>(value >> 32)});
  }

  void add(expr::ResolvedComparison const& comparison) {
    auto const& as = compared_.encodings[column_of(comparison.first).encoding];
    auto const comparator = static_cast<std::uint32_t>(comparison.comparator);
    if (!comparison.second) {
      // Of the least word with itself: what is decided holds for all values, or for none.
      add_step(shaders::kStepCompare, comparator, 1);
      for (int i = 0; i < 2; ++i) add_operand(shaders::kConstantOperand, shaders::kColumnU32, 0);
    } else if (as.form == ComparedAs::Form::words) {
      add_step(shaders::kStepCompare, comparator, as.words);
      add_words(comparison.first, as);
      add_words(*comparison.second, as);
    } else {
      bool const are_numbers = as.form == ComparedAs::Form::numbers;
      add_step(are_numbers ? shaders::kStepCompareNumbers : shaders::kStepCompareTexts, comparator, 0);
      add_value(comparison.first);
      add_value(*comparison.second);
    }
    add_validity(comparison.first);
    if (comparison.second && !is_constant(*comparison.second)) add_validity(*comparison.second);
  }

  static std::uint32_t source_of(expr::ResolvedOperand const& operand) {
    if (is_constant(operand)) return shaders::kConstantOperand;
    return operand.source == Source::left ? shaders::kProbeOperand : shaders::kBuildOperand;
  }

  void add_words(expr::ResolvedOperand const& operand, ComparedAs const& as) {
    if (is_constant(operand)) return add_operand(source_of(operand), as.kind, values_.constant(operand.index));
    auto const side = side_of(operand);
    auto const column = values_.column(side, operand.index);
    auto form = as.kind;
    if (column.words == 2) form |= shaders::kOperandWide;
    if (type_row(tables_.field(side, column_of(operand).column).type.id).is_signed) form |= shaders::kOperandSigned;
    add_operand(source_of(operand), form, column.address);
  }

  /// What is not compared by words alone.
  void add_value(expr::ResolvedOperand const& operand) {
    add_operand(source_of(operand), 0,
                is_constant(operand) ? values_.constant_operand(operand.index)
                                     : values_.operand(side_of(operand), operand.index));
  }

  /// A comparison with null is false.
  void add_validity(expr::ResolvedOperand const& operand) {
    auto const nulls = tables_.nulls(side_of(operand), column_of(operand).column);
    if (!nulls) return;
    add_step(shaders::kStepCompare, shaders::kEqual, 1);
    add_operand(source_of(operand), shaders::kOperandNulls | nulls->bit << shaders::kOperandBitShift, nulls->words);
    add_operand(shaders::kConstantOperand, shaders::kColumnU32, 1);
    add_combination(shaders::kStepAll);
  }

  JoinedTables tables_;
  expr::ResolvedCondition const& condition_;
  ComparedColumns const& compared_;
  ComparedValues const& values_;
  std::vector<std::uint32_t> words_;
};

}  // namespace

Result<void> check_device_condition(Schema const& left, Schema const& right, expr::ResolvedCondition const& condition) {
  GARUDA_TRY(check_compared_types(left, right, condition));
  return check_depth(condition);
}

Result<void> check_stored_condition(resolve::JoinRequest const& request) {
  GARUDA_TRY(compared_columns(request));
  return check_depth(*request.columns.condition);
}

Result<DeviceCondition> DeviceCondition::create(compute::ComputeContext& context, resolve::JoinRequest const& request) {
  GARUDA_TRY_ASSIGN(auto const compared, compared_columns(request));
  DeviceCondition condition;
  GARUDA_TRY_ASSIGN(condition.values_, ComparedValues::create(context, request, compared));
  condition.steps_ = Steps(request, compared, condition.values_).take();
  condition.has_many_words_ =
      std::ranges::any_of(compared.encodings, [](ComparedAs const& as) { return as.form != ComparedAs::Form::words; });
  return condition;
}

}  // namespace garuda::device
