// Fixed-width keys as every kernel sees them.
#pragma once

#include <cstdint>
#include <span>
#include <variant>

#include "garuda/table.hpp"

namespace garuda::contract {

/// Most rows of a side in one pass: float counters stay exact.
inline constexpr std::uint64_t kMaxPassRows = std::uint64_t{1} << 24;

/// Keys of one side of a slice: every value is legal. min and max bound these keys (unspecified when empty).
struct KeySpan {
  std::variant<std::span<std::uint32_t const>, std::span<std::uint64_t const>> words;
  std::uint64_t min = 0;
  std::uint64_t max = 0;
  Location location;

  std::uint64_t size() const noexcept {
    return std::visit([](auto const& keys) { return static_cast<std::uint64_t>(keys.size()); }, words);
  }
};

}  // namespace garuda::contract
