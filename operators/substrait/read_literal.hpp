// Constants of Substrait.
#pragma once

#include <cstdint>
#include <optional>

#include "garuda/error.hpp"
#include "garuda/expression.hpp"
#include "operators/substrait/message.hpp"

namespace garuda::substrait {

/// A constant interval, which is the argument of a few functions and no value of an expression.
struct Interval {
  std::int64_t months = 0;
  std::int64_t days = 0;
  std::int64_t microseconds = 0;
};

/// The constant of a message `Literal`. Errors: usage for a type that it does not take, invalid_input for bytes that
/// are no value of their type.
Result<Literal> read_literal(Message const& literal);

/// The interval that the message is; nullopt: another constant. Errors: usage for parts of a microsecond.
Result<std::optional<Interval>> read_interval(Message const& literal);

}  // namespace garuda::substrait
