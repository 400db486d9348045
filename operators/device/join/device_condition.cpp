#include "operators/device/join/device_condition.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "shaders/compute/column_values_layout.h"
#include "shaders/compute/filter_pairs_layout.h"

namespace garuda::device {
namespace {

using contract::ConditionStep;
using Source = contract::Operand::Source;

/// Beside them whether an operand has a value.
Result<void> check_depth(resolve::ResolvedCondition const& condition) {
  std::size_t depth = 0;
  std::size_t most = 0;
  for (auto const& step : condition.steps) {
    depth = step.kind == ConditionStep::Kind::comparison ? depth + 1 : depth - 1;
    most = std::max(most, depth);
  }
  if (most + 1 <= shaders::kMostProgramDepth) return {};
  return fail(ErrorCode::invalid_input, fmt::format("a condition on a device has at most {} results at a time: {}",
                                                    shaders::kMostProgramDepth - 1, most));
}

class Steps {
 public:
  Steps(resolve::JoinRequest const& request, ComparedColumns const& compared, MadeColumns const& made)
      : left_(*request.left.resident()),
        right_(*request.right.resident()),
        condition_(*request.columns.condition),
        compared_(compared),
        made_(made) {
    for (auto const& step : condition_.steps) {
      if (step.kind == ConditionStep::Kind::comparison) {
        add(condition_.comparisons[step.comparison]);
      } else {
        add_step(step.kind == ConditionStep::Kind::all ? shaders::kStepAll : shaders::kStepAny, 0, 0);
        words_.insert(words_.end(), shaders::kStepWords - 3, 0);
      }
    }
  }

  std::vector<std::uint32_t> take() { return std::move(words_); }

 private:
  static Side side_of(resolve::ResolvedOperand const& operand) {
    return operand.source == Source::left ? Side::left : Side::right;
  }
  resolve::ConditionColumn const& column_of(resolve::ResolvedOperand const& operand) const {
    return condition_.columns(side_of(operand))[operand.index];
  }
  DeviceTableState const& table_of(resolve::ResolvedOperand const& operand) const {
    return operand.source == Source::left ? left_ : right_;
  }

  void add_step(std::uint32_t kind, std::uint32_t comparator, std::uint32_t compared) {
    words_.insert(words_.end(), {kind, comparator, compared});
  }
  void add_operand(std::uint32_t source, std::uint32_t form, std::uint64_t value) {
    words_.insert(words_.end(), {source | form << shaders::kOperandFormShift, static_cast<std::uint32_t>(value),
                                 static_cast<std::uint32_t>(value >> 32)});
  }

  void add(resolve::ResolvedComparison const& comparison) {
    auto const& as = compared_.encodings[column_of(comparison.first).encoding];
    add_step(shaders::kStepCompare, static_cast<std::uint32_t>(comparison.comparator), as.words);
    add_value(comparison.first, as);
    if (!comparison.second) {
      add_operand(shaders::kConstantOperand, shaders::kColumnU32, 0);
    } else if (comparison.second->source == Source::constant) {
      add_operand(shaders::kConstantOperand, as.kind, made_.constant(comparison.second->index));
    } else {
      add_value(*comparison.second, as);
    }
    add_validity(comparison.first);
    if (comparison.second && comparison.second->source != Source::constant) add_validity(*comparison.second);
  }

  static std::uint32_t source_of(resolve::ResolvedOperand const& operand) {
    return operand.source == Source::left ? shaders::kProbeOperand : shaders::kBuildOperand;
  }

  void add_value(resolve::ResolvedOperand const& operand, ComparedAs const& as) {
    auto const column = made_.column(side_of(operand), operand.index);
    auto form = as.kind;
    if (column.words == 2) form |= shaders::kOperandWide;
    if (is_signed_type(table_of(operand).schema[column_of(operand).column].type)) form |= shaders::kOperandSigned;
    add_operand(source_of(operand), form, column.address);
  }

  /// A comparison with null is false.
  void add_validity(resolve::ResolvedOperand const& operand) {
    auto const& table = table_of(operand);
    auto const& column = table.columns[column_of(operand).column];
    if (!column.nulls) return;
    add_step(shaders::kStepCompare, shaders::kEqual, 1);
    add_operand(source_of(operand), shaders::kOperandNulls | column.null_bit << shaders::kOperandBitShift,
                table.stored[*column.nulls].buffer.address());
    add_operand(shaders::kConstantOperand, shaders::kColumnU32, 1);
    add_step(shaders::kStepAll, 0, 0);
    words_.insert(words_.end(), shaders::kStepWords - 3, 0);
  }

  DeviceTableState const& left_;
  DeviceTableState const& right_;
  resolve::ResolvedCondition const& condition_;
  ComparedColumns const& compared_;
  MadeColumns const& made_;
  std::vector<std::uint32_t> words_;
};

}  // namespace

Result<void> check_device_condition(Schema const& left, Schema const& right,
                                    resolve::ResolvedCondition const& condition) {
  constexpr auto kCompared =
      "of tables brought there whole a device compares integers, floats, booleans, dates, times and decimals of up to "
      "64 bits, of one scale and unit";
  auto const check = [&](std::string const& what, DataType const& type, std::size_t encoding) -> Result<void> {
    auto const& of = condition.encodings[encoding];
    if (is_compared_by_words(type, of.as, of.compares_order)) return {};
    return fail(ErrorCode::invalid_input,
                fmt::format("{}: {} of type {} as {}", kCompared, what, to_string(type), to_string(of.as)));
  };
  for (auto const side : {Side::left, Side::right})
    for (auto const& column : condition.columns(side)) {
      auto const& field = (side == Side::left ? left : right)[column.column];
      GARUDA_TRY(check(fmt::format("'{}'", field.name), field.type, column.encoding));
    }
  for (auto const& constant : condition.constants) GARUDA_TRY(check("a constant", constant.type, constant.encoding));
  return check_depth(condition);
}

Result<void> check_stored_condition(resolve::JoinRequest const& request) {
  GARUDA_TRY(compared_columns(request));
  return check_depth(*request.columns.condition);
}

Result<DeviceCondition> DeviceCondition::create(compute::ComputeContext& context, resolve::JoinRequest const& request) {
  GARUDA_TRY_ASSIGN(auto const compared, compared_columns(request));
  DeviceCondition condition;
  GARUDA_TRY_ASSIGN(condition.made_, MadeColumns::create(context, request, compared));
  condition.steps_ = Steps(request, compared, condition.made_).take();
  return condition;
}

}  // namespace garuda::device
