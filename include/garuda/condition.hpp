// Conditions on pairs of rows: comparisons of columns and constants, joined by and, or and not.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "garuda/column_ref.hpp"
#include "garuda/error.hpp"

namespace garuda {

enum class Comparator : std::uint8_t { equal, not_equal, less, less_equal, greater, greater_equal };

/// The comparator as conditions spell it: `=`, `<>`, `<`, `<=`, `>`, `>=`.
std::string_view to_string(Comparator comparator) noexcept;

/// A value as it is typed; what it means follows from the column that it is compared with.
struct Constant {
  enum class Form : std::uint8_t {
    null,
    boolean,  ///< `text` is true or false
    number,   ///< `text` are digits, with sign, point and exponent as they come: -12.5e3
    text,     ///< what stands between quotes: strings, dates and times, and whatever the column's type can read
  };

  Form form = Form::null;
  std::string text{};

  friend bool operator==(Constant const&, Constant const&) = default;
};

using Operand = std::variant<ColumnRef, Constant>;

/// Null when an operand is.
struct Comparison {
  Operand first;
  Comparator comparator = Comparator::equal;
  Operand second;

  friend bool operator==(Comparison const&, Comparison const&) = default;
};

/// A condition on a row of each side, three-valued: `not` of null is null; `and` is false if one part is, else null if
/// one is; `or` is true if one is, else null if one is. A pair matches where the condition is true.
struct Condition {
  enum class Kind : std::uint8_t { comparison, all, any, negation };

  Kind kind = Kind::comparison;
  Comparison comparison{};         ///< of kind comparison
  std::vector<Condition> parts{};  ///< of all (and) and any (or): two at least; of negation (not): one

  friend bool operator==(Condition const&, Condition const&) = default;
};

/// Parses `left.a < right.b and (right.c <> 'x' or not left.d >= 3.5)`. Words are read in any case. Columns are
/// `left.NAME` and `right.NAME`: letters, digits, _, . and $, or any character behind a backslash, or all of it in
/// double quotes, a quote twice. Constants are numbers, `true`, `false`, `null` and text in single quotes, a quote
/// twice. `not` binds more tightly than `and`, that more than `or`.
/// Errors: usage, with the position and what is allowed there.
Result<Condition> parse_condition(std::string_view text);
/// The inverse.
std::string to_string(Condition const& condition);

inline Operand left_column(std::string name) { return ColumnRef{Side::left, std::move(name)}; }
inline Operand right_column(std::string name) { return ColumnRef{Side::right, std::move(name)}; }

inline Operand null_constant() { return Constant{}; }
inline Operand constant(std::string_view text) { return Constant{Constant::Form::text, std::string(text)}; }
inline Operand constant(char const* text) { return constant(std::string_view(text)); }
inline Operand constant(bool value) { return Constant{Constant::Form::boolean, value ? "true" : "false"}; }
/// The shortest number that reads as `value`.
Operand constant(double value);
template <std::integral Integer>
requires(!std::same_as<Integer, bool>) Operand constant(Integer value) {
  return Constant{Constant::Form::number, std::to_string(value)};
}

inline Condition compare(Operand first, Comparator comparator, Operand second) {
  return {Condition::Kind::comparison, {std::move(first), comparator, std::move(second)}, {}};
}
Condition operator&&(Condition first, Condition second);
Condition operator||(Condition first, Condition second);
Condition operator!(Condition condition);

/// The condition on tables that change sides.
Condition with_sides_swapped(Condition condition);

/// The comparisons of a condition, in their order.
std::vector<Comparison> comparisons_of(Condition const& condition);

/// Names of the columns of `side` that a condition compares, each once.
std::vector<std::string> columns_of(Condition const& condition, Side side);

}  // namespace garuda
