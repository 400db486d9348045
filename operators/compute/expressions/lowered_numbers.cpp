// Arithmetic of integers, decimals and floats as steps of passes.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "expr/functions/function_rows.hpp"
#include "operators/compute/expressions/program_lowering.hpp"

namespace garuda::compute {
namespace {

tl::unexpected<Error> no_arithmetic(expr::Function function, char const* of) {
  return fail(ErrorCode::invalid_input,
              fmt::format("shaders do not compute {} of {}", expr::function_row(function).text, of));
}

/// Functions that are one step of integers, whatever their operands.
std::optional<std::uint32_t> integer_function(expr::Function function) {
  switch (function) {
    case expr::Function::add:
      return shaders::kAdd;
    case expr::Function::subtract:
    case expr::Function::opposite:
      return shaders::kSubtract;
    case expr::Function::multiply:
      return shaders::kMultiply;
    case expr::Function::divide:
      return shaders::kQuotient;
    case expr::Function::remainder:
      return shaders::kRemainder;
    case expr::Function::floor_divide:
      return shaders::kFloorQuotient;
    case expr::Function::floor_remainder:
      return shaders::kFloorRemainder;
    case expr::Function::absolute:
      return shaders::kAbsolute;
    case expr::Function::floor:
    case expr::Function::ceil:
      return shaders::kSettle;
    default:
      return std::nullopt;
  }
}

std::optional<std::uint32_t> float_function(expr::Function function) {
  switch (function) {
    case expr::Function::add:
      return shaders::kFloatAdd;
    case expr::Function::subtract:
      return shaders::kFloatSubtract;
    case expr::Function::multiply:
      return shaders::kFloatMultiply;
    case expr::Function::divide:
      return shaders::kFloatDivide;
    case expr::Function::opposite:
      return shaders::kFloatOpposite;
    case expr::Function::absolute:
      return shaders::kFloatAbsolute;
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<void> ProgramLowering::lower_integers(expr::Step const& step, EmittedStep emitted) {
  auto function = integer_function(step.function);
  if (step.function == expr::Function::round && program_.details[step.detail].numbers[0] >= 0)
    function = shaders::kSettle;
  if (!function) return no_arithmetic(step.function, "integers");
  emitted.function = *function;
  if (step.function == expr::Function::opposite) std::swap(emitted.first, emitted.second);  // from nothing, which is 0
  set_fit(step, nullptr, emitted);
  emit(emitted);
  return {};
}

Result<void> ProgramLowering::lower_decimals(expr::Step const& step, EmittedStep emitted) {
  auto const& detail = *detail_of(step);
  auto const first = detail.operands[0].scale;
  auto const second = detail.operands[1].scale;
  auto const scale = detail.result.scale;
  set_fit(step, &detail, emitted);
  switch (step.function) {
    case expr::Function::add:
    case expr::Function::subtract: {
      if (scale < std::max(first, second)) return no_arithmetic(step.function, "decimals that are rounded");
      emitted.function = step.function == expr::Function::add ? shaders::kAdd : shaders::kSubtract;
      GARUDA_TRY_ASSIGN(emitted.first, scaled_up(emitted.first, scale - first));
      GARUDA_TRY_ASSIGN(emitted.second, scaled_up(emitted.second, scale - second));
      break;
    }
    case expr::Function::multiply: {
      auto const exponent = first + second - scale;
      if (exponent < 0) return no_arithmetic(step.function, "decimals in a finer scale than theirs");
      emitted.function = exponent == 0 ? shaders::kMultiply : shaders::kMultiplyDivide;
      if (exponent > 0) {
        GARUDA_TRY_ASSIGN(emitted.third, power_of_ten_constant(exponent));
      }
      break;
    }
    case expr::Function::divide: {
      auto const exponent = scale + second - first;
      if (exponent < 0) return no_arithmetic(step.function, "decimals in a coarser scale than theirs");
      emitted.function = shaders::kMultiplyDivide;
      emitted.third = emitted.second;
      GARUDA_TRY_ASSIGN(emitted.second, power_of_ten_constant(exponent));
      break;
    }
    case expr::Function::opposite:
    case expr::Function::absolute:
      if (scale != first) return no_arithmetic(step.function, "decimals in another scale than theirs");
      emitted.function = step.function == expr::Function::absolute ? shaders::kAbsolute : shaders::kSubtract;
      if (step.function == expr::Function::opposite) std::swap(emitted.first, emitted.second);
      break;
    default:
      return lower_rounding(step, emitted);
  }
  emit(emitted);
  return {};
}

/// Digits are dropped by one division, and those that the scale of the result wants come back by a product.
Result<void> ProgramLowering::lower_rounding(expr::Step const& step, EmittedStep emitted) {
  auto const& detail = *detail_of(step);
  if (step.function != expr::Function::round && step.function != expr::Function::floor)
    return no_arithmetic(step.function, "decimals");
  auto const first = detail.operands[0].scale;
  auto const digits = step.function == expr::Function::round ? detail.numbers[0] : 0;
  if (digits < 0 || detail.result.scale < std::min<std::int64_t>(digits, first))
    return no_arithmetic(step.function, "decimals to fewer digits than whole ones");
  auto const dropped = std::max(first - static_cast<std::int32_t>(std::min<std::int64_t>(digits, first)), 0);
  auto whole = emitted;
  whole.function = step.function == expr::Function::round ? shaders::kMultiplyDivide : shaders::kFloorQuotient;
  GARUDA_TRY_ASSIGN(whole.second,
                    step.function == expr::Function::round ? constant(1) : power_of_ten_constant(dropped));
  if (step.function == expr::Function::round) {
    GARUDA_TRY_ASSIGN(whole.third, power_of_ten_constant(dropped));
  }
  whole.numbers[0] = shaders::kFitsSigned | 128U;
  emit(whole);
  emitted.first = emitted.target;
  emitted.function = shaders::kMultiply;
  GARUDA_TRY_ASSIGN(emitted.second, power_of_ten_constant(detail.result.scale - first + dropped));
  emit(emitted);
  return {};
}

Result<void> ProgramLowering::lower_floats(expr::Step const& step, EmittedStep emitted) {
  auto const function = float_function(step.function);
  if (!function) return no_arithmetic(step.function, "floats");
  emitted.function = *function;
  emitted.numbers[0] = step.result == expr::Kind::float64 ? shaders::kWideFloat : 0U;
  emit(emitted);
  return {};
}

}  // namespace garuda::compute
