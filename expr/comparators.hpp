// This header says what comparators mean, and which one holds when operands change places or a result is negated.
#pragma once

#include <cstdint>

#include "garuda/condition.hpp"

namespace garuda::expr {

/// Returns the comparator that holds of `b` and `a` where `comparator` holds of `a` and `b`.
constexpr Comparator mirrored(Comparator comparator) noexcept {
  constexpr Comparator kMirrored[] = {Comparator::equal,         Comparator::not_equal, Comparator::greater,
                                      Comparator::greater_equal, Comparator::less,      Comparator::less_equal};
  return kMirrored[static_cast<std::size_t>(comparator)];
}

/// Returns the comparator that holds where `comparator` does not.
constexpr Comparator negated(Comparator comparator) noexcept {
  constexpr Comparator kNegated[] = {Comparator::not_equal, Comparator::equal,      Comparator::greater_equal,
                                     Comparator::greater,   Comparator::less_equal, Comparator::less};
  return kNegated[static_cast<std::size_t>(comparator)];
}

constexpr bool asks_order(Comparator comparator) noexcept {
  return comparator != Comparator::equal && comparator != Comparator::not_equal;
}

/// Calls body(holds), where holds(a, b) says whether `comparator` holds of two words.
template <class Body>
constexpr auto with_comparator(Comparator comparator, Body const& body) {
  switch (comparator) {
    case Comparator::equal:
      return body([](auto a, auto b) { return a == b; });
    case Comparator::not_equal:
      return body([](auto a, auto b) { return a != b; });
    case Comparator::less:
      return body([](auto a, auto b) { return a < b; });
    case Comparator::less_equal:
      return body([](auto a, auto b) { return a <= b; });
    case Comparator::greater:
      return body([](auto a, auto b) { return a > b; });
    case Comparator::greater_equal:
      break;
  }
  return body([](auto a, auto b) { return a >= b; });
}

/// Returns whether a `comparator` b.
constexpr bool holds(Comparator comparator, std::uint64_t a, std::uint64_t b) noexcept {
  return with_comparator(comparator, [=](auto const& compare) { return compare(a, b); });
}

}  // namespace garuda::expr
