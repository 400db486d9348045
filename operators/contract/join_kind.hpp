// What the kinds of join give, as data: pairs of rows, and rows of a side that come alone.
#pragma once

#include <cstdint>

#include "garuda/join.hpp"

namespace garuda::contract {

/// Rows of a side that come in the result without one of the other side.
enum class Alone : std::uint8_t {
  none,
  matched,    ///< those with a match
  unmatched,  ///< those without
  all,        ///< every row, with the answer beside it
};

struct JoinParts {
  bool pairs = true;  ///< rows that match come in pairs
  Alone left = Alone::none;
  Alone right = Alone::none;

  Alone alone(Side side) const noexcept { return side == Side::left ? left : right; }
};

JoinParts parts_of(JoinKind kind) noexcept;

/// Of `rows` rows, of which `matched` have a match, how many come alone.
template <class Number>
constexpr Number num_alone(Alone alone, Number rows, Number matched) noexcept {
  switch (alone) {
    case Alone::none:
      break;
    case Alone::matched:
      return matched;
    case Alone::unmatched:
      return rows - matched;
    case Alone::all:
      return rows;
  }
  return 0;
}

}  // namespace garuda::contract
