// Columns of the two tables of a join, by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "garuda/error.hpp"

namespace garuda {

enum class Side : std::uint8_t { left, right };

std::string_view to_string(Side side) noexcept;

/// A column of one table of a join.
struct ColumnRef {
  Side side = Side::left;
  std::string name;

  friend bool operator==(ColumnRef const&, ColumnRef const&) = default;
};

/// Parses `left.NAME` or `right.NAME`; a backslash makes the next character part of the name.
/// Errors: usage, with what is allowed.
Result<ColumnRef> parse_column_ref(std::string_view text);

}  // namespace garuda
