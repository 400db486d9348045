// The rows that each kind of join gives, as data: pairs of rows, and rows of one side without a row of the other.
#pragma once

#include <cstdint>

#include "garuda/join.hpp"

namespace garuda::contract {

/// The rows of one side that the result has without a row of the other side: unmatched rows of outer and anti joins,
/// matched rows of semi joins, all rows of mark joins.
enum class SideRows : std::uint8_t {
  none,
  matched,    ///< those with a match
  unmatched,  ///< those without
  all,        ///< every row, with the answer beside it
};

struct JoinParts {
  bool pairs = true;  ///< rows that match come in pairs
  SideRows left = SideRows::none;
  SideRows right = SideRows::none;

  SideRows rows(Side side) const noexcept { return side == Side::left ? left : right; }
  /// Whether the result has the unmatched rows of `side`.
  bool gives_unmatched(Side side) const noexcept {
    return rows(side) == SideRows::unmatched || rows(side) == SideRows::all;
  }
};

JoinParts parts_of(JoinKind kind) noexcept;

/// Counts the rows that `chosen` names among `rows` rows, `matched` of which have a match.
template <class Number>
constexpr Number num_side_rows(SideRows chosen, Number rows, Number matched) noexcept {
  switch (chosen) {
    case SideRows::none:
      break;
    case SideRows::matched:
      return matched;
    case SideRows::unmatched:
      return rows - matched;
    case SideRows::all:
      return rows;
  }
  return 0;
}

}  // namespace garuda::contract
