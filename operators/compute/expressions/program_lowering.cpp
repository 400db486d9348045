#include "operators/compute/expressions/program_lowering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "core/type_rows.hpp"
#include "expr/functions/function_rows.hpp"
#include "expr/functions/value_set.hpp"

namespace garuda::compute {
namespace {

constexpr std::size_t kNever = ~std::size_t{0};

/// A value of a kind, whose bytes come first, as a register holds it.
Int128 register_value(expr::Kind kind, void const* bytes) {
  return expr::with_kind(kind, [&]<class Value>(Value) -> Int128 {
    if constexpr (std::is_same_v<Value, std::string_view>) {
      return 0;
    } else {
      Value value;
      std::memcpy(&value, bytes, sizeof(value));
      if constexpr (std::is_same_v<Value, float>)
        return Int128{std::bit_cast<std::uint32_t>(value)};
      else if constexpr (std::is_same_v<Value, double>)
        return Int128{std::bit_cast<std::uint64_t>(value)};
      else
        return Int128{value};
    }
  });
}

std::array<std::uint64_t, 2> register_words(Int128 value) {
  return {static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(static_cast<UInt128>(value) >> 64)};
}

std::uint32_t register_order(expr::Kind kind) {
  if (kind == expr::Kind::float32) return shaders::kOrderFloat32;
  return kind == expr::Kind::float64 ? shaders::kOrderFloat64 : shaders::kOrderIntegers;
}

tl::unexpected<Error> no_function(expr::Function function) {
  auto const text = expr::function_row(function).text;
  return fail(ErrorCode::invalid_input,
              fmt::format("shaders do not compute {}", text.empty() ? std::string_view("a function") : text));
}

std::optional<std::uint32_t> logic_function(expr::Function function) {
  switch (function) {
    case expr::Function::all:
      return shaders::kAll;
    case expr::Function::any:
      return shaders::kAny;
    case expr::Function::negate:
      return shaders::kNot;
    case expr::Function::is_null:
      return shaders::kIsNull;
    case expr::Function::is_true:
      return shaders::kIsTrue;
    case expr::Function::select:
      return shaders::kSelect;
    case expr::Function::coalesce:
      return shaders::kCoalesce;
    case expr::Function::least:
      return shaders::kLeast;
    case expr::Function::greatest:
      return shaders::kGreatest;
    default:
      return std::nullopt;
  }
}

}  // namespace

ProgramLowering::ProgramLowering(expr::Program const& program, std::span<ExpressionInput const> inputs,
                                 ExpressionSteps& steps)
    : program_(program), inputs_(inputs), steps_(steps) {
  auto const registers = program.inputs.size() + program.constants.size() + program.steps.size();
  places_.assign(registers, shaders::kNoOperand);
  last_uses_.assign(registers, kNever);
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    for (auto const from : program.steps[s].from)
      if (from != expr::kNoRegister) last_uses_[from] = s;
    if (program.steps[s].guard != expr::kNoRegister) last_uses_[program.steps[s].guard] = s;
  }
  if (program.result < registers) last_uses_[program.result] = program.steps.size();
}

Result<std::uint32_t> ProgramLowering::run() {
  bool const is_text =
      program_.result < program_.inputs.size() && program_.inputs[program_.result] == expr::Kind::bytes;
  if (is_text) return fail(ErrorCode::invalid_input, "shaders do not compute with texts");
  for (auto const& step : program_.steps) {
    GARUDA_TRY(lower(step));
    release_after(static_cast<std::size_t>(&step - program_.steps.data()));
  }
  return place(program_.result);
}

void ProgramLowering::emit(EmittedStep const& step) {
  auto const low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  auto const high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); };
  steps_.steps_.insert(steps_.steps_.end(),
                       {step.function | step.target << 8 | step.first << 16 | step.second << 24,
                        step.third | step.guard << 8 | step.form << 16, step.numbers[0], step.numbers[1],
                        low(step.value[0]), high(step.value[0]), low(step.value[1]), high(step.value[1])});
}

Result<std::uint32_t> ProgramLowering::take_register() {
  if (free_ == 0)
    return fail(
        ErrorCode::invalid_input,
        fmt::format("an expression keeps more values at a time than shaders have room for: {}", shaders::kRegisters));
  auto const taken = static_cast<std::uint32_t>(std::countr_zero(free_));
  free_ &= ~(1U << taken);
  return taken;
}

Result<std::uint32_t> ProgramLowering::place(expr::Register from) {
  if (from == expr::kNoRegister) return shaders::kNoOperand;
  auto& place = places_[from];
  if (place != shaders::kNoOperand) return place;
  GARUDA_TRY_ASSIGN(place, take_register());
  if (from < program_.inputs.size()) {
    GARUDA_TRY(load(from, place));
    return place;
  }
  auto const& constant = program_.constants[from - program_.inputs.size()];
  if (constant.kind == expr::Kind::bytes) return fail(ErrorCode::invalid_input, "shaders do not compute with texts");
  auto const value = register_value(constant.kind, constant.words.data());
  emit({.function = shaders::kConstant,
        .target = place,
        .numbers = {constant.is_null ? 0U : 1U, 0},
        .value = register_words(value)});
  return place;
}

Result<void> ProgramLowering::load(std::size_t input, std::uint32_t to) {
  auto const& from = inputs_[input];
  auto const& type = from.type;
  auto const& nulls = from.nulls;
  auto const& column = from.column;
  auto const kind = program_.inputs[input];
  if (type.id == TypeId::float16)
    return fail(ErrorCode::invalid_input,
                fmt::format("shaders do not compute with values of type {}", to_string(type)));
  bool const is_signed = kind == expr::Kind::int32 || kind == expr::Kind::int64 || kind == expr::Kind::int128;
  emit({.function = shaders::kLoad,
        .target = to,
        .numbers = {column.words | (is_signed ? shaders::kLoadSigned : 0U), nulls ? nulls->bit : 0},
        .value = {column.address, nulls ? nulls->words : 0}});
  return {};
}

Result<std::uint32_t> ProgramLowering::constant(Int128 value) {
  GARUDA_TRY_ASSIGN(auto const place, take_register());
  temporary_.push_back(place);
  emit({.function = shaders::kConstant, .target = place, .numbers = {1, 0}, .value = register_words(value)});
  return place;
}

void ProgramLowering::release_after(std::size_t step) {
  for (auto const place : temporary_) free_ |= 1U << place;
  temporary_.clear();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (places_[i] == shaders::kNoOperand || (last_uses_[i] != step && last_uses_[i] != kNever)) continue;
    free_ |= 1U << places_[i];
    places_[i] = shaders::kNoOperand;
  }
}

expr::StepDetail const* ProgramLowering::detail_of(expr::Step const& step) const {
  return step.detail == expr::kNoDetail ? nullptr : &program_.details[step.detail];
}

void ProgramLowering::set_fit(expr::Step const& step, expr::StepDetail const* detail, EmittedStep& emitted) {
  bool const is_signed = step.result == expr::Kind::int32 || step.result == expr::Kind::int64;
  if (step.result == expr::Kind::int128 && detail != nullptr) {
    emitted.numbers[0] = shaders::kFitsDecimal;
    emitted.value = register_words(static_cast<Int128>(power_of_ten(detail->result.precision)));
  } else {
    emitted.numbers[0] = step.bits | (is_signed ? shaders::kFitsSigned : shaders::kFitsUnsigned);
  }
}

Result<void> ProgramLowering::lower(expr::Step const& step) {
  bool const is_of_texts = step.operands == expr::Kind::bytes && step.function != expr::Function::is_null;
  EmittedStep emitted;
  if (!is_of_texts) {
    GARUDA_TRY_ASSIGN(emitted.first, place(step.from[0]));
    GARUDA_TRY_ASSIGN(emitted.second, place(step.from[1]));
    GARUDA_TRY_ASSIGN(emitted.third, place(step.from[2]));
  }
  GARUDA_TRY_ASSIGN(emitted.guard, place(step.guard));
  emitted.form = static_cast<std::uint32_t>(step.on_failure);
  auto const result =
      static_cast<std::size_t>(&step - program_.steps.data()) + program_.inputs.size() + program_.constants.size();
  GARUDA_TRY_ASSIGN(emitted.target, take_register());
  places_[result] = emitted.target;
  bool const is_half = is_float(step.result) && step.bits == 16;
  if (is_half || step.result == expr::Kind::bytes) return no_function(step.function);
  bool const is_partial = expr::function_row(step.function).effect == expr::RowEffect::partial;
  if (is_partial && step.on_failure == expr::OnFailure::error && !(is_float(step.result) && is_float(step.operands)))
    steps_.can_fail_ = true;
  if (is_of_texts) return lower_texts(step, emitted);
  if (step.function == expr::Function::in) return lower_set(step, emitted);
  if (step.function == expr::Function::compare) return lower_comparison(step, emitted);
  if (step.function < expr::Function::add) return lower_logic(step, emitted);
  if (step.function == expr::Function::cast) return lower_cast(step, emitted);
  if (step.function >= expr::Function::extract) return lower_times(step, emitted);
  if (step.function > expr::Function::cast) return no_function(step.function);
  if (is_float(step.operands)) return lower_floats(step, emitted);
  return step.operands == expr::Kind::int128 ? lower_decimals(step, emitted) : lower_integers(step, emitted);
}

Result<void> ProgramLowering::lower_logic(expr::Step const& step, EmittedStep emitted) {
  auto const function = logic_function(step.function);
  if (!function) return no_function(step.function);
  emitted.function = *function;
  emitted.numbers[0] = register_order(step.operands);
  emit(emitted);
  return {};
}

Result<void> ProgramLowering::lower_set(expr::Step const& step, EmittedStep emitted) {
  auto const& set = *program_.details[step.detail].set;
  emitted.function = shaders::kIn;
  emitted.numbers[0] = register_order(step.operands);
  std::vector<std::uint32_t> kept;
  expr::with_kind(step.operands, [&]<class Value>(Value) {
    auto const& values = set.values<Value>();
    for (auto const& value : values)
      for (auto const word : register_words(register_value(step.operands, &value)))
        kept.insert(kept.end(), {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)});
    emitted.numbers[1] = static_cast<std::uint32_t>(values.size());
  });
  emitted.value = {keep_words(kept), set.has_null() ? 1U : 0U};
  emit_kept(emitted, false);
  return {};
}

Result<std::uint32_t> ProgramLowering::scaled_up(std::uint32_t from, std::int32_t exponent) {
  if (exponent == 0) return from;
  EmittedStep scaled{.function = shaders::kMultiply, .first = from, .form = shaders::kFailureIsUnsettled};
  GARUDA_TRY_ASSIGN(scaled.second, power_of_ten_constant(exponent));
  GARUDA_TRY_ASSIGN(scaled.target, take_register());
  temporary_.push_back(scaled.target);
  scaled.numbers[0] = shaders::kFitsSigned | 128U;
  steps_.can_fail_ = true;
  emit(scaled);
  return scaled.target;
}

Result<std::uint32_t> ProgramLowering::power_of_ten_constant(std::int32_t exponent) {
  if (exponent < 0 || exponent > kDecimal128Digits)
    return fail(ErrorCode::invalid_input, "shaders do not compute with decimals of scales so far apart");
  return constant(static_cast<Int128>(power_of_ten(exponent)));
}

Result<void> ProgramLowering::lower_comparison(expr::Step const& step, EmittedStep emitted) {
  emitted.function = shaders::kCompare;
  emitted.numbers[0] = register_order(step.operands) | static_cast<std::uint32_t>(step.comparator) << 8;
  if (auto const* const detail = detail_of(step); detail != nullptr && step.operands == expr::Kind::int128) {
    auto const [first, second] = std::pair(detail->operands[0].scale, detail->operands[1].scale);
    GARUDA_TRY_ASSIGN(emitted.first, scaled_up(emitted.first, std::max(second - first, 0)));
    GARUDA_TRY_ASSIGN(emitted.second, scaled_up(emitted.second, std::max(first - second, 0)));
  }
  emit(emitted);
  if (step.null_is_false) emit({.function = shaders::kIsTrue, .target = emitted.target, .first = emitted.target});
  return {};
}

}  // namespace garuda::compute
