#include "expr/evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <type_traits>

#include "expr/comparators.hpp"

namespace garuda::expr {
/// One step: its operands, its result, and the memory of that.
struct StepFrame {
  Step const& step;
  std::size_t operands = 0;
  std::array<Vector const*, 3> from{};
  Vector const* guard = nullptr;  ///< rows that ask for the value; nullptr: all
  std::uint8_t* values = nullptr;
  std::uint8_t* valid = nullptr;   ///< memory that the result's validity may take
  std::uint8_t* failed = nullptr;  ///< by row: the step has no value
  std::size_t rows = 0;            ///< of the block
  std::size_t count = 0;           ///< values of the result: 1 where all operands are constants

  Vector const& operand(std::size_t i) const noexcept { return *from[i]; }
};

namespace {

/// The outcome of a step for a value.
enum class Outcome : std::uint8_t {
  fine,
  beyond,     ///< It is beyond its type; what was written is its value modulo 2^bits.
  undefined,  ///< There is none: a quotient by zero, an integer of a NaN.
};

/// Cuts an integer that was computed in `Value` to a type of `bits` bits.
template <std::integral Value>
Outcome narrow(Value& value, std::uint8_t bits) noexcept {
  if (bits >= sizeof(Value) * 8) return Outcome::fine;
  auto const unused = static_cast<int>(sizeof(Value) * 8 - bits);
  auto const whole = value;
  value = static_cast<Value>(static_cast<Value>(static_cast<std::make_unsigned_t<Value>>(value) << unused) >> unused);
  return value == whole ? Outcome::fine : Outcome::beyond;
}

/// Integers: the quotient or the remainder, cut towards zero or rounded down.
template <std::integral Value>
Outcome divide(Function function, Value a, Value b, Value& result) noexcept {
  result = 0;
  if (b == 0) return Outcome::undefined;
  bool const is_quotient = function == Function::divide || function == Function::floor_divide;
  if (std::is_signed_v<Value> && b == static_cast<Value>(-1)) {  // by -1: the least value has no opposite
    bool const overflows = is_quotient && a == std::numeric_limits<Value>::min();
    if (is_quotient) result = static_cast<Value>(0 - static_cast<std::make_unsigned_t<Value>>(a));
    return overflows ? Outcome::beyond : Outcome::fine;
  }
  auto quotient = static_cast<Value>(a / b);
  auto rest = static_cast<Value>(a % b);
  bool const is_floor = function == Function::floor_divide || function == Function::floor_remainder;
  if (is_floor && rest != 0 && (rest < 0) != (b < 0)) {
    quotient = static_cast<Value>(quotient - 1);
    rest = static_cast<Value>(rest + b);
  }
  result = is_quotient ? quotient : rest;
  return Outcome::fine;
}

template <std::integral Value>
Outcome compute(Function function, Value a, Value b, std::uint8_t bits, Value& result) noexcept {
  bool overflows = false;
  switch (function) {
    case Function::add:
      overflows = __builtin_add_overflow(a, b, &result);
      break;
    case Function::subtract:
      overflows = __builtin_sub_overflow(a, b, &result);
      break;
    case Function::multiply:
      overflows = __builtin_mul_overflow(a, b, &result);
      break;
    case Function::opposite:
      overflows = __builtin_sub_overflow(Value{0}, a, &result);
      break;
    default:
      if (auto const outcome = divide(function, a, b, result); outcome != Outcome::fine) return outcome;
      break;
  }
  auto const outcome = narrow(result, bits);
  return overflows ? Outcome::beyond : outcome;
}

template <std::floating_point Value>
Outcome compute(Function function, Value a, Value b, std::uint8_t, Value& result) noexcept {
  switch (function) {
    case Function::add:
      result = a + b;
      break;
    case Function::subtract:
      result = a - b;
      break;
    case Function::multiply:
      result = a * b;
      break;
    case Function::opposite:
      result = -a;
      break;
    case Function::divide:
      result = a / b;
      break;
    case Function::floor_divide:
      result = std::floor(a / b);
      break;
    case Function::remainder:
      result = std::fmod(a, b);
      break;
    default:
      result = std::fmod(a, b);
      if (result != 0 && (result < 0) != (b < 0)) result += b;
      break;
  }
  return Outcome::fine;
}

/// The value in another kind. `is_boolean`: it becomes one.
template <class From, class To>
Outcome convert(From from, bool is_boolean, std::uint8_t bits, To& to) noexcept {
  if (is_boolean) {
    to = static_cast<To>(from != 0 ? 1 : 0);
    return Outcome::fine;
  }
  if constexpr (std::is_floating_point_v<To>) {
    to = static_cast<To>(from);
    return Outcome::fine;
  } else if constexpr (std::is_floating_point_v<From>) {
    to = 0;
    // The bounds are powers of two, which floats hold exactly.
    auto const span = std::ldexp(From{1}, std::is_signed_v<To> ? bits - 1 : bits);
    auto const whole = std::trunc(from);
    if (!(whole < span && whole >= (std::is_signed_v<To> ? -span : From{0}))) return Outcome::undefined;
    to = static_cast<To>(whole);
    return Outcome::fine;
  } else {
    to = static_cast<To>(from);
    bool const is_kept = static_cast<From>(to) == from && (to < 0) == (from < 0);
    auto const outcome = narrow(to, bits);
    return is_kept ? outcome : Outcome::beyond;
  }
}

std::size_t width_of(Kind kind) {
  return with_kind(kind, [](auto value) { return sizeof(value); });
}

std::size_t num_operands(Step const& step) {
  return static_cast<std::size_t>(std::ranges::find(step.from, kNoRegister) - step.from.begin());
}

/// Rows in which every operand has a value; nullptr: all.
std::uint8_t const* valid_of_all(StepFrame const& frame, MaskKernels const& kernels) {
  std::uint8_t const* valid = nullptr;
  for (std::size_t o = 0; o < frame.operands; ++o) {
    auto const& operand = frame.operand(o);
    if (operand.valid == nullptr || (operand.is_constant && frame.count > 1 && *operand.valid != 0)) continue;
    if (operand.is_constant && frame.count > 1) {
      std::memset(frame.valid, 0, frame.count);
      return frame.valid;
    }
    if (valid == nullptr) {
      valid = operand.valid;
    } else {
      kernels.and_both(valid, operand.valid, frame.count, frame.valid);
      valid = frame.valid;
    }
  }
  return valid;
}

/// Calls body(i, a, b) for the values of two operands of one kind.
template <class Value, class Body>
void for_values(Vector const& a, Vector const& b, std::size_t count, Body const& body) {
  auto const* const first = a.as<Value>();
  auto const* const second = b.as<Value>();
  if (a.is_constant && !b.is_constant)
    for (std::size_t i = 0; i < count; ++i) body(i, *first, second[i]);
  else if (b.is_constant && !a.is_constant)
    for (std::size_t i = 0; i < count; ++i) body(i, first[i], *second);
  else
    for (std::size_t i = 0; i < count; ++i) body(i, first[i], second[i]);
}

void compare(StepFrame const& frame, MaskKernels const& kernels, Vector& result) {
  auto const* a = &frame.operand(0);
  auto const* b = &frame.operand(1);
  auto comparator = frame.step.comparator;
  if (a->is_constant && !b->is_constant) {
    std::swap(a, b);
    comparator = mirrored(comparator);
  }
  kernels.compare(frame.step.operands, comparator, a->values, b->values, b->is_constant, frame.count, frame.values);
  if (!frame.step.null_is_false) {
    result.valid = valid_of_all(frame, kernels);
    return;
  }
  for (auto const* const operand : {&frame.operand(0), &frame.operand(1)}) {
    if (operand->valid == nullptr) continue;
    if (!operand->is_constant || frame.count == 1)
      kernels.and_masks(operand->valid, frame.count, frame.values);
    else if (*operand->valid == 0)
      std::memset(frame.values, 0, frame.count);
  }
}

/// `and` and `or` of three values. Where neither operand is null, only bytes are combined.
void combine(StepFrame const& frame, MaskKernels const& kernels, Vector& result) {
  bool const is_all = frame.step.function == Function::all;
  auto const& a = frame.operand(0);
  auto const& b = frame.operand(1);
  auto const* const first = a.as<std::uint8_t>();
  auto const* const second = b.as<std::uint8_t>();
  bool const are_valid = a.valid == nullptr && b.valid == nullptr;
  if (are_valid && a.stride() == b.stride()) {
    (is_all ? kernels.and_both : kernels.or_both)(first, second, frame.count, frame.values);
    return;
  }
  for (std::size_t i = 0; i < frame.count; ++i) {
    auto const at_a = i * a.stride();
    auto const at_b = i * b.stride();
    std::uint8_t const has_a = a.valid == nullptr ? 1 : a.valid[at_a];
    std::uint8_t const has_b = b.valid == nullptr ? 1 : b.valid[at_b];
    // The value that decides alone: false for `and`, true for `or`.
    std::uint8_t const decides_a = has_a & (is_all ? first[at_a] ^ 1 : first[at_a]);
    std::uint8_t const decides_b = has_b & (is_all ? second[at_b] ^ 1 : second[at_b]);
    frame.values[i] = is_all ? (decides_a | decides_b) ^ 1 : decides_a | decides_b;
    frame.valid[i] = (has_a & has_b) | decides_a | decides_b;
  }
  if (!are_valid) result.valid = frame.valid;
}

void negate(StepFrame const& frame, Vector& result) {
  auto const& a = frame.operand(0);
  for (std::size_t i = 0; i < frame.count; ++i) frame.values[i] = a.as<std::uint8_t>()[i] ^ 1;
  result.valid = a.valid;
}

void test_null(StepFrame const& frame) {
  auto const* const valid = frame.operand(0).valid;
  for (std::size_t i = 0; i < frame.count; ++i) frame.values[i] = valid == nullptr ? 0 : valid[i] ^ 1;
}

/// The operand itself where it has no nulls.
void test_true(StepFrame const& frame, MaskKernels const& kernels, Vector& result) {
  auto const& a = frame.operand(0);
  if (a.valid == nullptr)
    result.values = a.values;
  else
    kernels.and_both(a.as<std::uint8_t>(), a.valid, frame.count, frame.values);
}

void select(StepFrame const& frame, Vector& result) {
  auto const& condition = frame.operand(0);
  auto const& a = frame.operand(1);
  auto const& b = frame.operand(2);
  auto const takes_first = [&](std::size_t i) {
    auto const at = i * condition.stride();
    return condition.as<std::uint8_t>()[at] != 0 && (condition.valid == nullptr || condition.valid[at] != 0);
  };
  with_kind(frame.step.result, [&]<class Value>(Value) {
    auto* const to = reinterpret_cast<Value*>(frame.values);
    for (std::size_t i = 0; i < frame.count; ++i)
      to[i] = takes_first(i) ? a.template as<Value>()[i * a.stride()] : b.template as<Value>()[i * b.stride()];
  });
  if (a.valid == nullptr && b.valid == nullptr) return;
  for (std::size_t i = 0; i < frame.count; ++i) {
    auto const& taken = takes_first(i) ? a : b;
    frame.valid[i] = taken.valid == nullptr ? 1 : taken.valid[i * taken.stride()];
  }
  result.valid = frame.valid;
}

/// Whether what became of a value leaves the row without one.
bool has_failed(Outcome outcome, OnFailure on_failure) {
  return outcome == Outcome::undefined || (outcome == Outcome::beyond && on_failure != OnFailure::wrap);
}

void compute_values(StepFrame const& frame) {
  auto const& step = frame.step;
  auto const& second = step.function == Function::opposite ? frame.operand(0) : frame.operand(1);
  with_machine_kind(step.operands, [&]<class Value>(Value) {
    auto* const to = reinterpret_cast<Value*>(frame.values);
    for_values<Value>(frame.operand(0), second, frame.count, [&](std::size_t i, Value a, Value b) {
      auto const outcome = compute(step.function, a, b, step.bits, to[i]);
      frame.failed[i] = has_failed(outcome, step.on_failure) ? 1 : 0;
    });
  });
}

void cast_values(StepFrame const& frame) {
  auto const& step = frame.step;
  with_machine_kind(step.operands, [&]<class From>(From) {
    with_machine_kind(step.result, [&]<class To>(To) {
      auto* const to = reinterpret_cast<To*>(frame.values);
      for (std::size_t i = 0; i < frame.count; ++i) {
        auto const outcome = convert(frame.operand(0).as<From>()[i], step.result == Kind::boolean, step.bits, to[i]);
        frame.failed[i] = has_failed(outcome, step.on_failure) ? 1 : 0;
      }
    });
  });
}

/// Whether a row of the block asks for value `i` of the result.
bool is_asked(StepFrame const& frame, std::size_t i) {
  if (frame.rows == 0) return false;
  if (frame.guard == nullptr) return true;
  auto const* const asks = frame.guard->as<std::uint8_t>();
  if (frame.guard->is_constant) return *asks != 0;
  // A constant is one value, which any row may ask for.
  return frame.count == 1 ? std::memchr(asks, 1, frame.rows) != nullptr : asks[i] != 0;
}

/// Makes rows without a value null, or says that a row asks for one.
Result<void> settle(StepFrame const& frame, MaskKernels const& kernels, std::string const& text, Vector& result) {
  result.valid = valid_of_all(frame, kernels);
  if (std::memchr(frame.failed, 1, frame.count) == nullptr) return {};
  for (std::size_t i = 0; i < frame.count; ++i) {
    // A row whose operands are null has no value to lose.
    bool const is_valid = result.valid == nullptr || result.valid[i] != 0;
    bool const is_lost = frame.failed[i] != 0 && is_valid;
    if (is_lost && frame.step.on_failure == OnFailure::error && is_asked(frame, i))
      return fail(ErrorCode::invalid_input,
                  fmt::format("an expression has no value for a row, beyond its type or divided by zero: {}", text));
    frame.valid[i] = is_valid && !is_lost ? 1 : 0;
  }
  result.valid = frame.valid;
  return {};
}

/// Steps that may have no value for a row.
Result<void> run_partial(StepFrame const& frame, MaskKernels const& kernels, std::string const& text, Vector& result) {
  frame.step.function == Function::cast ? cast_values(frame) : compute_values(frame);
  return settle(frame, kernels, text, result);
}

/// Steps that give every row a value, or null.
void run_total(StepFrame const& frame, MaskKernels const& kernels, Vector& result) {
  switch (frame.step.function) {
    case Function::compare:
      return compare(frame, kernels, result);
    case Function::all:
    case Function::any:
      return combine(frame, kernels, result);
    case Function::negate:
      return negate(frame, result);
    case Function::is_null:
      return test_null(frame);
    case Function::is_true:
      return test_true(frame, kernels, result);
    default:
      return select(frame, result);
  }
}

}  // namespace

Evaluator::Evaluator(Program const& program) : program_(program), kernels_(mask_kernels()) {
  static constexpr std::uint8_t kInvalid = 0;
  registers_.resize(program.inputs.size());
  strings_.reserve(program.constants.size());
  for (auto const& constant : program.constants) {
    void const* value = constant.words.data();
    if (constant.kind == Kind::bytes) value = &strings_.emplace_back(constant.bytes);
    registers_.push_back({constant.kind, true, value, constant.is_null ? &kInvalid : nullptr});
  }
  registers_.resize(registers_.size() + program.steps.size());
  std::size_t bytes = 0;
  for (auto const& step : program.steps) bytes += kVectorRows * (1 + width_of(step.result));
  memory_.resize(bytes / sizeof(Int128));
  auto* memory = reinterpret_cast<std::uint8_t*>(memory_.data());
  for (auto const& step : program.steps) {
    auto& frame = frames_.emplace_back(StepFrame{step});
    frame.operands = num_operands(step);
    for (std::size_t o = 0; o < frame.operands; ++o) frame.from[o] = &registers_[step.from[o]];
    if (step.guard != kNoRegister) frame.guard = &registers_[step.guard];
    frame.valid = memory;
    frame.values = memory + kVectorRows;
    frame.failed = failed_.data();
    memory = frame.values + kVectorRows * width_of(step.result);
  }
}

Evaluator::~Evaluator() = default;

Result<void> Evaluator::run_steps(std::size_t count) {
  GARUDA_EXPECTS(count <= kVectorRows);
  auto* result = registers_.data() + registers_.size() - frames_.size();
  for (auto& frame : frames_) {
    bool is_constant = true;
    for (std::size_t o = 0; o < frame.operands; ++o) is_constant = is_constant && frame.from[o]->is_constant;
    frame.rows = count;
    frame.count = is_constant ? 1 : count;
    *result = {frame.step.result, is_constant, frame.values, nullptr};
    if (frame.step.function < Function::add)
      run_total(frame, kernels_, *result);
    else
      GARUDA_TRY(run_partial(frame, kernels_, program_.texts[frame.step.text], *result));
    ++result;
  }
  return {};
}

Result<Vector> Evaluator::run(std::size_t count) {
  GARUDA_TRY(run_steps(count));
  return registers_[program_.result];
}

std::uint8_t const* Evaluator::mask(std::size_t count) {
  GARUDA_EXPECTS(run_steps(count).has_value());
  auto const& result = registers_[program_.result];
  if (!result.is_constant) return result.as<std::uint8_t>();
  failed_.fill(*result.as<std::uint8_t>());
  return failed_.data();
}

}  // namespace garuda::expr
