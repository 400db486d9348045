#include "operators/device/join/device_condition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/type_rows.hpp"
#include "keys/codes/key_types.hpp"
#include "operators/materialize/column_words.hpp"
#include "shaders/compute/column_values_layout.h"
#include "shaders/compute/filter_pairs_layout.h"

namespace garuda::device {
namespace {

using contract::ConditionStep;
using Source = contract::Operand::Source;

bool is_float(DataType const& type) { return type.id == TypeId::float32 || type.id == TypeId::float64; }

/// Whether values of a type are compared in another by their words alone.
bool is_compared(DataType const& from, DataType const& as) {
  auto const words = device_words(as);
  if (!words || *words > 2) return false;
  return keys::extends_to(from, as) || (from == as && (is_float(as) || as.id == TypeId::boolean));
}

/// Integers and decimals by their sign, dates, times and durations as signed numbers.
bool is_signed(DataType const& type) {
  return type_row(type.id).family == TypeFamily::temporal || materialize::is_signed(type.id);
}

std::uint32_t kind_of(DataType const& as) {
  bool const is_wide = device_words(as) == 2U;
  if (is_float(as)) return is_wide ? shaders::kColumnF64 : shaders::kColumnF32;
  if (is_signed(as)) return is_wide ? shaders::kColumnI64 : shaders::kColumnI32;
  return is_wide ? shaders::kColumnU64 : shaders::kColumnU32;
}

class Steps {
 public:
  Steps(DeviceTableState const& left, DeviceTableState const& right, resolve::ResolvedCondition const& condition)
      : left_(left), right_(right), condition_(condition) {
    for (auto const& step : condition.steps) {
      if (step.kind == ConditionStep::Kind::comparison) {
        add(condition.comparisons[step.comparison]);
      } else {
        add_step(step.kind == ConditionStep::Kind::all ? shaders::kStepAll : shaders::kStepAny, 0, 0);
        words_.insert(words_.end(), shaders::kStepWords - 3, 0);
      }
    }
  }

  std::vector<std::uint32_t> take() { return std::move(words_); }

 private:
  resolve::ConditionColumn const& column_of(resolve::ResolvedOperand const& operand) const {
    return condition_.columns(operand.source == Source::left ? Side::left : Side::right)[operand.index];
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
    auto const& as = condition_.encodings[column_of(comparison.first).encoding].as;
    add_step(shaders::kStepCompare, static_cast<std::uint32_t>(comparison.comparator), device_words(as).value_or(1));
    add_value(comparison.first, as);
    if (!comparison.second) {
      add_operand(shaders::kConstantOperand, shaders::kColumnU32, 0);
    } else if (comparison.second->source == Source::constant) {
      add_constant(condition_.constants[comparison.second->index], as);
    } else {
      add_value(*comparison.second, as);
    }
    add_validity(comparison.first);
    if (comparison.second && comparison.second->source != Source::constant) add_validity(*comparison.second);
  }

  static std::uint32_t source_of(resolve::ResolvedOperand const& operand) {
    return operand.source == Source::left ? shaders::kProbeOperand : shaders::kBuildOperand;
  }

  void add_value(resolve::ResolvedOperand const& operand, DataType const& as) {
    auto const& table = table_of(operand);
    auto const column = column_of(operand).column;
    auto const& stored = table.stored[table.columns[column].stored];
    auto form = kind_of(as);
    if (stored.words == 2) form |= shaders::kOperandWide;
    if (is_signed(table.schema[column].type)) form |= shaders::kOperandSigned;
    add_operand(source_of(operand), form, stored.buffer.address());
  }

  void add_constant(resolve::ConditionConstant const& constant, DataType const& as) {
    std::uint64_t value = 0;
    auto const bytes = std::min(constant.bytes.size(), sizeof(value));
    std::memcpy(&value, constant.bytes.data(), bytes);
    // Continued by its sign.
    bool const is_negative = (std::to_integer<unsigned>(constant.bytes[bytes - 1]) & 0x80U) != 0;
    if (is_signed(constant.type) && is_negative && bytes < sizeof(value)) value |= ~std::uint64_t{0} << (8 * bytes);
    add_operand(shaders::kConstantOperand, kind_of(as), value);
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
  std::vector<std::uint32_t> words_;
};

}  // namespace

Result<void> check_device_condition(Schema const& left, Schema const& right,
                                    resolve::ResolvedCondition const& condition) {
  constexpr auto kCompared =
      "a device compares integers, floats, booleans, dates, times and decimals of up to 64 bits, of one scale and unit";
  auto const check = [&](std::string const& what, DataType const& type, std::size_t encoding) -> Result<void> {
    auto const& as = condition.encodings[encoding].as;
    if (is_compared(type, as)) return {};
    return fail(ErrorCode::invalid_input,
                fmt::format("{}: {} of type {} as {}", kCompared, what, to_string(type), to_string(as)));
  };
  for (auto const side : {Side::left, Side::right})
    for (auto const& column : condition.columns(side)) {
      auto const& field = (side == Side::left ? left : right)[column.column];
      GARUDA_TRY(check(fmt::format("'{}'", field.name), field.type, column.encoding));
    }
  for (auto const& constant : condition.constants) GARUDA_TRY(check("a constant", constant.type, constant.encoding));
  std::size_t depth = 0;
  std::size_t most = 0;
  for (auto const& step : condition.steps) {
    depth = step.kind == ConditionStep::Kind::comparison ? depth + 1 : depth - 1;
    most = std::max(most, depth);
  }
  // Beside them whether an operand has a value.
  if (most + 1 <= shaders::kMostProgramDepth) return {};
  return fail(ErrorCode::invalid_input, fmt::format("a condition on a device has at most {} results at a time: {}",
                                                    shaders::kMostProgramDepth - 1, most));
}

std::vector<std::uint32_t> condition_steps(DeviceTableState const& left, DeviceTableState const& right,
                                           resolve::ResolvedCondition const& condition) {
  return Steps(left, right, condition).take();
}

}  // namespace garuda::device
