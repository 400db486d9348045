// The memory limit of a query, and how its operators share it.
#pragma once

#include <cstdint>
#include <utility>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/materialize/spill_space.hpp"

namespace garuda::query {

/// Rows between operators have a quarter of the limit, and go to files beyond it; the operator at work has the rest.
struct QueryLimit {
  QueryLimit(std::uint64_t limit_bytes, os::TemporaryFolder folder)
      : rows(std::move(folder), limit_bytes / 4), operator_bytes(limit_bytes - limit_bytes / 4) {}

  materialize::SpillSpace rows;
  std::uint64_t operator_bytes;
};

/// Splittings of one row at most; each divides by up to 2^kMostSplitBits.
inline constexpr std::uint32_t kMostSplitLevels = 4;
inline constexpr std::uint32_t kMostSplitBits = 6;

/// Rows of a block that is worked on at a time, where that takes about 32 bytes a row and half an operator's memory.
constexpr std::uint64_t block_rows_of(QueryLimit const& limit) noexcept {
  constexpr std::uint64_t kFewestRows = 1024;
  return limit.operator_bytes / 64 > kFewestRows ? limit.operator_bytes / 64 : kFewestRows;
}

}  // namespace garuda::query
