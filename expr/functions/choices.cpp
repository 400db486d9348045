// Functions of several values that say themselves which results are null.
#include <algorithm>
#include <type_traits>

#include "expr/functions/step_functions.hpp"
#include "expr/functions/value_set.hpp"

namespace garuda::expr {
namespace {

bool has_value(Vector const& vector, std::size_t i) noexcept {
  return vector.valid == nullptr || vector.valid[i * vector.stride()] != 0;
}

/// Takes, for each row, the first operand or the second: takes_second(a, b) says of two values which.
template <class Value, class Takes>
void choose(StepFrame const& frame, Vector& result, Takes const& takes_second) {
  auto const& a = frame.operand(0);
  auto const& b = frame.operand(1);
  for_values<Value>(a, b, frame.count, [&](std::size_t i, Value const& first, Value const& second) {
    bool const has_first = has_value(a, i);
    bool const has_second = has_value(b, i);
    bool const is_second = !has_first || (has_second && takes_second(first, second));
    frame.to<Value>()[i] = is_second ? second : first;
    frame.valid[i] = has_first || has_second ? 1 : 0;
  });
  if (a.valid != nullptr && b.valid != nullptr) result.valid = frame.valid;
}

/// Few constants are compared one by one.
template <class Value>
bool is_among(std::vector<Value> const& values, Value const& value) noexcept {
  constexpr std::size_t kFew = 8;
  if (values.size() > kFew) return std::ranges::binary_search(values, value, comes_before<Value>);
  return std::ranges::any_of(values, [&](Value const& other) {
    if constexpr (std::is_floating_point_v<Value>)
      return !comes_before(value, other) && !comes_before(other, value);
    else
      return value == other;
  });
}

template <class Value>
void find_among(StepFrame const& frame, Vector& result) {
  auto const& set = *frame.detail->set;
  auto const& values = set.values<Value>();
  auto const& operand = frame.operand(0);
  auto const* const from = operand.as<Value>();
  for (std::size_t i = 0; i < frame.count; ++i) frame.values[i] = is_among(values, from[i]) ? 1 : 0;
  result.valid = operand.valid;
  if (!set.has_null()) return;
  for (std::size_t i = 0; i < frame.count; ++i) frame.valid[i] = has_value(operand, i) && frame.values[i] != 0 ? 1 : 0;
  result.valid = frame.valid;
}

}  // namespace

void choose_values(StepFrame const& frame, Vector& result) {
  with_kind(frame.step.operands, [&]<class Value>(Value) {
    switch (frame.step.function) {
      case Function::in:
        return find_among<Value>(frame, result);
      case Function::coalesce:
        return choose<Value>(frame, result, [](Value const&, Value const&) { return false; });
      case Function::least:
        return choose<Value>(frame, result, [](Value const& a, Value const& b) { return comes_before(b, a); });
      default:
        return choose<Value>(frame, result, [](Value const& a, Value const& b) { return comes_before(a, b); });
    }
  });
}

}  // namespace garuda::expr
