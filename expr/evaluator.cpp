#include "expr/evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "expr/comparators.hpp"
#include "expr/functions/function_rows.hpp"
#include "expr/functions/step_functions.hpp"
#include "expr/kernels/narrow_kernels.hpp"

namespace garuda::expr {
namespace {

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

/// Whether a step compares decimals of different scales.
bool is_scaled(StepFrame const& frame) {
  return frame.step.operands == Kind::int128 && frame.detail->operands[0].scale != frame.detail->operands[1].scale;
}

/// Whether a step computes with narrow operands, as long as what it makes of them is narrow.
bool takes_narrow(StepFrame const& frame) {
  if (frame.step.function == Function::compare) return !is_scaled(frame);
  auto const function = frame.step.function;
  return function == Function::add || function == Function::subtract || function == Function::multiply;
}

/// Compares narrow values with others, or with a constant that may be beyond 64 bits.
void compare_narrow(Vector const& a, Comparator comparator, Vector const& b, StepFrame const& frame,
                    MaskKernels const& kernels) {
  if (!b.is_constant)
    return kernels.compare(Kind::int64, comparator, a.values, b.values, false, frame.count, frame.values);
  auto const wide = *b.as<Int128>();
  auto const one = static_cast<std::int64_t>(wide);
  if (one == wide) return kernels.compare(Kind::int64, comparator, a.values, &one, true, frame.count, frame.values);
  with_comparator(comparator,
                  [&](auto const& holds) { std::memset(frame.values, holds(Int128{0}, wide) ? 1 : 0, frame.count); });
}

void compare(StepFrame const& frame, MaskKernels const& kernels, Vector& result) {
  auto const* a = &frame.operand(0);
  auto const* b = &frame.operand(1);
  auto comparator = frame.step.comparator;
  if (a->is_constant && !b->is_constant) {
    std::swap(a, b);
    comparator = mirrored(comparator);
  }
  if (is_scaled(frame))
    compare_decimals(frame);
  else if (a->is_narrow)
    compare_narrow(*a, comparator, *b, frame, kernels);
  else
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

/// Whether a row of the block asks for value `i` of the result.
bool is_asked(StepFrame const& frame, std::size_t i) {
  if (frame.rows == 0) return false;
  if (frame.guard == nullptr) return true;
  auto const* const asks = frame.guard->as<std::uint8_t>();
  if (frame.guard->is_constant) return *asks != 0;
  // A constant is one value, which any row may ask for.
  return frame.count == 1 ? std::memchr(asks, 1, frame.rows) != nullptr : asks[i] != 0;
}

/// The failure of an expression for row `i`, whose operand is shown where it is a text that was not read.
tl::unexpected<Error> failure(StepFrame const& frame, std::size_t i, std::string const& text) {
  constexpr std::size_t kShownBytes = 64;
  auto const& operand = frame.operand(0);
  if (frame.step.function != Function::cast || frame.step.operands != Kind::bytes)
    return fail(ErrorCode::invalid_input,
                fmt::format("an expression has no value for a row, beyond its type or divided by zero: {}", text));
  auto const value = operand.as<std::string_view>()[i * operand.stride()];
  return fail(ErrorCode::invalid_input,
              fmt::format("a text is no value of {}, in {}: '{}{}'", to_string(frame.detail->result), text,
                          value.substr(0, kShownBytes), value.size() > kShownBytes ? "…" : ""));
}

/// Makes rows without a value null, or says that a row asks for one.
Result<void> settle(StepFrame const& frame, std::string const& text, Vector& result) {
  if (std::memchr(frame.failed, 1, frame.count) == nullptr) return {};
  for (std::size_t i = 0; i < frame.count; ++i) {
    // A row whose operands are null has no value to lose.
    bool const is_valid = result.valid == nullptr || result.valid[i] != 0;
    bool const is_lost = frame.failed[i] != 0 && is_valid;
    if (is_lost && frame.step.on_failure == OnFailure::error && is_asked(frame, i)) return failure(frame, i, text);
    frame.valid[i] = is_valid && !is_lost ? 1 : 0;
  }
  result.valid = frame.valid;
  return {};
}

/// Functions that say themselves which results are null.
void run_own(StepFrame const& frame, MaskKernels const& kernels, Vector& result) {
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
    case Function::select:
      return select(frame, result);
    default:
      return choose_values(frame, result);
  }
}

/// Functions whose results are null where an operand is.
void run_plain(StepFrame const& frame) {
  auto const function = frame.step.function;
  if (function == Function::cast) return cast_values(frame);
  if (function < Function::cast)
    return frame.step.operands == Kind::int128 ? compute_decimals(frame) : compute_numbers(frame);
  function < Function::extract ? compute_text(frame) : compute_times(frame);
}

/// Copies of a step's narrow operands as wide ones, in place of them while it lives.
class WideOperands {
 public:
  /// `memory`: of each operand's copy, which is made where it is needed.
  WideOperands(StepFrame& frame, std::array<std::vector<Int128>, 3>& memory) : frame_(frame), from_(frame.from) {
    bool are_narrow = frame.step.function == Function::compare && takes_narrow(frame);
    for (std::size_t o = 0; o < frame.operands; ++o)
      are_narrow = are_narrow && (frame.operand(o).is_narrow || frame.operand(o).is_constant);
    for (std::size_t o = 0; o < frame.operands && !are_narrow; ++o) {
      auto const& operand = frame.operand(o);
      if (!operand.is_narrow) continue;
      memory[o].resize(kVectorRows);
      narrow_kernels().widen(operand.as<std::int64_t>(), frame.count, memory[o].data());
      wide_[o] = {operand.kind, false, memory[o].data(), operand.valid};
      frame.from[o] = &wide_[o];
    }
  }
  WideOperands(WideOperands const&) = delete;
  WideOperands& operator=(WideOperands const&) = delete;
  ~WideOperands() { frame_.from = from_; }

 private:
  StepFrame& frame_;
  std::array<Vector const*, 3> from_;
  std::array<Vector, 3> wide_;
};

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
    if (step.function == Function::regexp_replace || step.function == Function::regexp_replace_all)
      frame.memo = std::make_unique<TextMemo>();
    if (step.detail != kNoDetail) frame.detail = &program.details[step.detail];
    frame.arena = &arena_;
    frame.operands = num_operands(step);
    for (std::size_t o = 0; o < frame.operands; ++o) frame.from[o] = &registers_[step.from[o]];
    if (step.guard != kNoRegister) frame.guard = &registers_[step.guard];
    frame.valid = memory;
    frame.values = memory + kVectorRows;
    frame.narrow = reinterpret_cast<std::int64_t*>(frame.values);
    frame.failed = failed_.data();
    memory = frame.values + kVectorRows * width_of(step.result);
  }
}

Evaluator::~Evaluator() = default;

bool Evaluator::takes_narrow(std::size_t input) const {
  if (program_.inputs[input] != Kind::int128 || program_.result == input) return false;
  return std::ranges::all_of(frames_, [&](StepFrame const& frame) {
    auto const* const end = frame.step.from.data() + frame.operands;
    return std::find(frame.step.from.data(), end, input) == end || expr::takes_narrow(frame);
  });
}

Result<void> Evaluator::run_steps(std::size_t count) {
  GARUDA_EXPECTS(count <= kVectorRows);
  arena_.clear();
  auto* result = registers_.data() + registers_.size() - frames_.size();
  for (auto& frame : frames_) {
    bool is_constant = true;
    for (std::size_t o = 0; o < frame.operands; ++o) is_constant = is_constant && frame.from[o]->is_constant;
    frame.rows = count;
    frame.count = is_constant ? 1 : count;
    *result = {frame.step.result, is_constant, frame.values, nullptr};
    auto const effect = function_row(frame.step.function).effect;
    if (frame.step.operands == Kind::int128 && compute_narrow_decimals(frame)) {
      result->values = frame.narrow;
      result->is_narrow = true;
      result->valid = valid_of_all(frame, kernels_);
      ++result;
      continue;
    }
    WideOperands const wide(frame, wide_);
    if (effect == RowEffect::own) {
      run_own(frame, kernels_, *result);
    } else {
      run_plain(frame);
      result->valid = valid_of_all(frame, kernels_);
    }
    if (effect == RowEffect::partial) GARUDA_TRY(settle(frame, program_.texts[frame.step.text], *result));
    ++result;
  }
  return {};
}

Result<Vector> Evaluator::run(std::size_t count, void* into) {
  bool const is_of_step = !frames_.empty() && program_.result == registers_.size() - 1;
  auto* const own = is_of_step ? frames_.back().values : nullptr;
  if (is_of_step && into != nullptr) frames_.back().values = static_cast<std::uint8_t*>(into);
  auto ran = run_steps(count);
  if (is_of_step) frames_.back().values = own;
  GARUDA_TRY(std::move(ran));
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
