// How the memory of a limited run is divided. What is inexact here costs speed: every bound is kept by what is measured
// while rows are read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "garuda/error.hpp"
#include "operators/resolve/row_memory.hpp"
#include "spill/spill_file.hpp"

namespace garuda::spill {

using resolve::group_row_bytes;
using resolve::numbering_bytes;

/// Splittings of one row at most; each divides by up to 2^kMostBits.
inline constexpr std::uint32_t kMostLevels = 4;

/// The part of the limit for rows of a file that are read before they are asked for.
constexpr std::uint64_t ahead_bytes_for(std::uint64_t limit_bytes) noexcept { return limit_bytes / 8; }

/// Rows of a batch of which the limit holds many.
std::int64_t batch_rows_for(std::uint64_t limit_bytes);

/// Memory for the rows of a table and what an operator makes of them: `row_bytes` a row beside its data.
struct MemoryShare {
  std::uint64_t limit_bytes = 0;
  std::uint64_t row_bytes = 0;

  /// Memory that `volume` takes while it is worked on.
  std::uint64_t weight(RowVolume const& volume) const noexcept { return volume.bytes + volume.rows * row_bytes; }

  bool fits(std::uint64_t weight) const noexcept { return weight <= limit_bytes; }

  /// Takes `bytes` for the dictionaries of `what`, which stay in memory. Errors: limit_exceeded, for over half the
  /// limit.
  Result<void> keep_dictionaries(std::string_view what, std::uint64_t bytes);

  /// Rows held while they are split, in bytes: small enough that no batch that is written weighs more than a quarter of
  /// the limit when it comes back, whatever share of the rows a partition gets.
  std::uint64_t window_bytes(RowVolume const& sample) const noexcept {
    constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;
    auto const bytes = std::max<std::uint64_t>(sample.bytes, 1);
    auto const per_byte = static_cast<double>(weight(sample)) / static_cast<double>(bytes);
    auto const window = static_cast<double>(limit_bytes) / 4 / std::max(per_byte, 1.0);
    return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(window), 1, kMostBytes);
  }

  /// Bits that bring `weight` to three quarters of the limit a partition, at least 1.
  std::uint32_t bits_for(std::uint64_t weight, std::uint32_t most) const noexcept {
    std::uint32_t bits = 1;
    while (bits < most && (weight >> bits) > limit_bytes / 4 * 3) ++bits;
    return bits;
  }
};

}  // namespace garuda::spill
