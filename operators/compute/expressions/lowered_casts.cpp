// Casts and fields of dates as steps of passes.
#include <fmt/format.h>

#include <bit>
#include <optional>

#include "core/type_rows.hpp"
#include "expr/functions/time_units.hpp"
#include "operators/compute/expressions/program_lowering.hpp"

namespace garuda::compute {
namespace {

bool is_temporal(DataType const& type) { return type_row(type.id).family == TypeFamily::temporal; }
/// Dates of days, and timestamps: whole dates of milliseconds have rules of their own.
bool is_instant(DataType const& type) { return type.id == TypeId::date32 || type.id == TypeId::timestamp; }

tl::unexpected<Error> no_cast(DataType const& from, DataType const& to) {
  return fail(ErrorCode::invalid_input, fmt::format("shaders do not cast {} to {}", to_string(from), to_string(to)));
}

std::optional<std::uint32_t> day_field(expr::TimeField field) {
  switch (field) {
    case expr::TimeField::year:
      return shaders::kFieldYear;
    case expr::TimeField::quarter:
      return shaders::kFieldQuarter;
    case expr::TimeField::month:
      return shaders::kFieldMonth;
    case expr::TimeField::day:
      return shaders::kFieldDay;
    case expr::TimeField::day_of_week:
      return shaders::kFieldDayOfWeek;
    case expr::TimeField::iso_day_of_week:
      return shaders::kFieldIsoDayOfWeek;
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<void> ProgramLowering::lower_cast(expr::Step const& step, EmittedStep emitted) {
  auto const& detail = *detail_of(step);
  auto const& from = detail.operands[0];
  auto const& to = detail.result;
  if (is_temporal(from) && is_temporal(to)) {
    if (!is_instant(from) || !is_instant(to)) return no_cast(from, to);
    return lower_units(emitted, from, to);
  }
  if (step.result == expr::Kind::boolean) {
    emitted.function = is_float(step.operands) ? shaders::kFloatIsNumber : shaders::kToBoolean;
    emitted.numbers[0] = step.operands == expr::Kind::float64 ? shaders::kWideOperand : 0U;
    emit(emitted);
    return {};
  }
  if (is_float(step.result)) return lower_cast_to_float(step, emitted);
  if (step.result == expr::Kind::int128) return lower_cast_to_decimal(step, emitted);
  if (step.operands == expr::Kind::int128) return lower_cast_of_decimal(step, emitted);
  set_fit(step, nullptr, emitted);
  if (is_float(step.operands)) {
    emitted.function = shaders::kFloatToInteger;
    emitted.numbers = {step.operands == expr::Kind::float64 ? shaders::kWideOperand : 0U, emitted.numbers[0]};
    steps_.can_fail_ = true;
  } else {
    emitted.function = shaders::kSettle;
  }
  emit(emitted);
  return {};
}

Result<void> ProgramLowering::lower_cast_to_float(expr::Step const& step, EmittedStep emitted) {
  bool const is_wide = step.result == expr::Kind::float64;
  emitted.numbers[0] = is_wide ? shaders::kWideFloat : 0U;
  if (is_float(step.operands)) {
    emitted.function = shaders::kFloatOfFloat;
    emitted.numbers[0] |= step.operands == expr::Kind::float64 ? shaders::kWideOperand : 0U;
    emit(emitted);
    return {};
  }
  emitted.function = shaders::kFloatOfInteger;
  auto const scale = step.operands == expr::Kind::int128 ? detail_of(step)->operands[0].scale : 0;
  if (scale == 0) {
    emit(emitted);
    return {};
  }
  // A quotient of exact numbers is rounded once.
  constexpr std::int32_t kExactPower = 10;
  constexpr std::int32_t kExactWidePower = 22;
  if (scale > (is_wide ? kExactWidePower : kExactPower))
    return no_cast(detail_of(step)->operands[0], detail_of(step)->result);
  auto quotient = emitted;
  emitted.numbers[0] |= shaders::kExactOnly;
  steps_.can_fail_ = true;
  emit(emitted);
  auto const power = static_cast<double>(power_of_ten(scale));
  quotient.function = shaders::kFloatDivide;
  quotient.first = quotient.target;
  GARUDA_TRY_ASSIGN(quotient.second,
                    constant(is_wide ? Int128{std::bit_cast<std::uint64_t>(power)}
                                     : Int128{std::bit_cast<std::uint32_t>(static_cast<float>(power))}));
  emit(quotient);
  return {};
}

Result<void> ProgramLowering::lower_cast_of_decimal(expr::Step const& step, EmittedStep emitted) {
  set_fit(step, nullptr, emitted);
  emitted.function = shaders::kQuotient;
  GARUDA_TRY_ASSIGN(emitted.second, power_of_ten_constant(detail_of(step)->operands[0].scale));
  emit(emitted);
  return {};
}

Result<void> ProgramLowering::lower_cast_to_decimal(expr::Step const& step, EmittedStep emitted) {
  auto const& detail = *detail_of(step);
  if (is_float(step.operands)) return no_cast(detail.operands[0], detail.result);
  auto const scale = step.operands == expr::Kind::int128 ? detail.operands[0].scale : 0;
  auto const exponent = detail.result.scale - scale;
  set_fit(step, &detail, emitted);
  if (exponent >= 0) {
    emitted.function = shaders::kMultiply;
    GARUDA_TRY_ASSIGN(emitted.second, power_of_ten_constant(exponent));
  } else {
    emitted.function = shaders::kMultiplyDivide;
    GARUDA_TRY_ASSIGN(emitted.second, constant(1));
    GARUDA_TRY_ASSIGN(emitted.third, power_of_ten_constant(-exponent));
  }
  emit(emitted);
  return {};
}

/// Counts of one unit in another, cut to the earlier one.
Result<void> ProgramLowering::lower_units(EmittedStep emitted, DataType const& from, DataType const& to) {
  auto const own = expr::units_of_day(from);
  auto const wanted = expr::units_of_day(to);
  emitted.function = wanted >= own ? shaders::kMultiply : shaders::kFloorQuotient;
  GARUDA_TRY_ASSIGN(emitted.second, constant(wanted >= own ? wanted / own : own / wanted));
  emitted.numbers[0] = shaders::kFitsSigned | (to.id == TypeId::date32 ? 32U : 64U);
  // Instants beyond their type have no bits that would stand for them.
  if (emitted.form == shaders::kFailureWraps) emitted.form = shaders::kFailureIsNull;
  emit(emitted);
  return {};
}

Result<void> ProgramLowering::lower_times(expr::Step const& step, EmittedStep emitted) {
  auto const& detail = *detail_of(step);
  auto const field = day_field(detail.field);
  if (step.function != expr::Function::extract || !field)
    return fail(ErrorCode::invalid_input,
                step.function == expr::Function::extract
                    ? fmt::format("shaders do not extract '{}'", expr::to_string(detail.field))
                    : std::string("shaders do not truncate dates, nor move them"));
  if (auto const units = expr::units_of_day(detail.operands[0]); units > 1) {
    EmittedStep days{.function = shaders::kFloorQuotient, .target = emitted.target, .first = emitted.first};
    GARUDA_TRY_ASSIGN(days.second, constant(units));
    days.numbers[0] = shaders::kFitsSigned | 64U;
    emit(days);
    emitted.first = emitted.target;
  }
  emitted.function = shaders::kDayField;
  emitted.numbers[0] = *field;
  steps_.can_fail_ = true;
  emit(emitted);
  return {};
}

}  // namespace garuda::compute
