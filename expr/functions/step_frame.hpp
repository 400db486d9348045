// A step at work on a block.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "expr/functions/text_arena.hpp"
#include "expr/functions/text_memo.hpp"
#include "expr/kernels/mask_kernels.hpp"
#include "expr/program.hpp"

namespace garuda::expr {

/// One step: its operands, its result, and the memory of that.
struct StepFrame {
  Step const& step;
  StepDetail const* detail = nullptr;  ///< nullptr: the step has none
  TextArena* arena = nullptr;          ///< memory of strings that the step makes
  std::unique_ptr<TextMemo> memo;      ///< strings that the step has made, where it takes long to; else nullptr
  std::size_t operands = 0;
  std::array<Vector const*, 3> from{};
  Vector const* guard = nullptr;  ///< rows that ask for the value; nullptr: all
  std::uint8_t* values = nullptr;
  std::int64_t* narrow = nullptr;  ///< memory of the step's own, for results of Kind::int128 that 64 bits hold
  std::uint8_t* valid = nullptr;   ///< memory that the result's validity may take
  std::uint8_t* failed = nullptr;  ///< by row: the step has no value
  std::size_t rows = 0;            ///< of the block
  std::size_t count = 0;           ///< values of the result: 1 where all operands are constants

  Vector const& operand(std::size_t i) const noexcept { return *from[i]; }
  template <class Value>
  Value* to() const noexcept {
    return reinterpret_cast<Value*>(values);
  }
};

/// The outcome of a step for a value.
enum class Outcome : std::uint8_t {
  fine,
  beyond,     ///< It is beyond its type; where that is an integer, what was written is its value modulo 2^bits.
  undefined,  ///< There is none: a quotient by zero, an integer of a NaN, a text that is no number.
};

/// Whether what became of a value leaves the row without one.
inline bool has_failed(Outcome outcome, OnFailure on_failure) noexcept {
  return outcome == Outcome::undefined || (outcome == Outcome::beyond && on_failure != OnFailure::wrap);
}

/// Sets result i to what body(a, result) makes of operand value a, and notes its Outcome.
template <class From, class To, class Body>
void map_partial(StepFrame const& frame, Body const& body) {
  auto const* const from = frame.operand(0).as<From>();
  auto* const to = frame.to<To>();
  for (std::size_t i = 0; i < frame.count; ++i)
    frame.failed[i] = has_failed(body(from[i], to[i]), frame.step.on_failure) ? 1 : 0;
}

/// Sets result i to what body(a) returns.
template <class From, class To, class Body>
void map_total(StepFrame const& frame, Body const& body) {
  auto const* const from = frame.operand(0).as<From>();
  auto* const to = frame.to<To>();
  for (std::size_t i = 0; i < frame.count; ++i) to[i] = body(from[i]);
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

}  // namespace garuda::expr
