// Pairs of a slice that lie on a device and come to the host window by window.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "garuda/error.hpp"
#include "operators/contract/join_kernel.hpp"

namespace garuda::contract {

/// The pairs from number `first` on that the host has: the row numbers of both sides, in memory of the kernel.
struct PairWindow {
  std::uint64_t first = 0;
  std::span<std::uint32_t const> left{};
  std::span<std::uint32_t const> right{};
};

/// Writes the pairs [first, first + out.size()) as JoinKernel::pairs does. `load(position)` fills the window from a
/// position on; it is called where the window does not have the next pair. Errors: those of `load`.
template <class Load>
Result<void> read_pairs(PairWindow const& window, std::uint64_t first, std::span<RowPair> out, Load const& load) {
  for (std::size_t done = 0; done < out.size();) {
    auto const position = first + done;
    bool const is_here = position >= window.first && position - window.first < window.left.size();
    if (!is_here) GARUDA_TRY(load(position));
    auto const offset = position - window.first;
    auto const taken = std::min<std::uint64_t>(window.left.size() - offset, out.size() - done);
    for (std::uint64_t i = 0; i < taken; ++i) out[done + i] = {window.left[offset + i], window.right[offset + i]};
    done += taken;
  }
  return {};
}

}  // namespace garuda::contract
