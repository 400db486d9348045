// Constants of a condition as values of the type that they are compared in.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "garuda/condition.hpp"
#include "garuda/types.hpp"
#include "keys/order/order_words.hpp"

namespace garuda::expr {

/// Where a constant stands among all values of a type.
struct ConstantValue {
  keys::Place place = keys::Place::at;
  std::vector<std::byte> bytes;  ///< the value that it is at or above, as it lies in a column; of a boolean one byte
};

/// The constant among the values of `type`, which is no dictionary. Numbers are exact: 3.5 is above the integer 3, 1000
/// above the int8 127. Floats are rounded to the nearest one, to none beyond the largest. nullopt: it has not the form
/// of such values. Requires: a type that can be compared; the constant is not null.
std::optional<ConstantValue> constant_value(Constant const& constant, DataType const& type);

/// The form that constants of a type have, with an example.
std::string_view constant_form(DataType const& type);

}  // namespace garuda::expr
