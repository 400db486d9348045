// Look-ups by rank, compiled for each set of instructions (GARUDA_KERNELS): most of a look-up is counting bits, for
// which all sets but the first have an instruction.
#include <cstring>

#include "core/look_ahead.hpp"
#include "operators/cpu/join/rank_kernels.hpp"

namespace garuda::cpu {
namespace {

std::uint64_t add_ranks(std::uint64_t* words, std::size_t count, std::uint64_t less) {
  for (std::size_t w = 0; w < count; ++w) {
    auto const bits = words[w];
    words[w] = bits | less << RankedKeys::kRankBits;
    less += static_cast<std::uint64_t>(__builtin_popcountll(bits));
  }
  return less;
}

/// Calls set(i, all ones where keys[i] is a key and 0 where not, its rank) for each, without a branch on that.
template <class Key, class Set>
inline void for_ranks(RankedKeys const& ranked, void const* keys, std::size_t count, Set const& set) {
  auto const [min, shift, last, words] = ranked;
  auto const* const bytes = static_cast<char const*>(keys);
  for (std::size_t i = 0; i < count; ++i) {
    auto const* const at = bytes + i * sizeof(Key);
    // As core/look_ahead.hpp does.
    if (i % (64 / sizeof(Key)) == 0)
      __builtin_prefetch(reinterpret_cast<void const*>(reinterpret_cast<std::uintptr_t>(at) + kBytesAhead));
    Key key;
    std::memcpy(&key, at, sizeof(key));
    auto const value = std::uint64_t{static_cast<Key>(key - static_cast<Key>(min))} >> shift;
    auto const found = value <= last ? value : last + 1;
    auto const word = words[found / RankedKeys::kRankBits];
    auto const bit = static_cast<std::uint32_t>(found % RankedKeys::kRankBits);
    auto const below = static_cast<std::uint32_t>(word) & ((std::uint32_t{1} << bit) - 1);
    auto const rank = static_cast<std::uint32_t>(word >> RankedKeys::kRankBits) +
                      static_cast<std::uint32_t>(__builtin_popcount(below));
    set(i, 0U - (static_cast<std::uint32_t>(word) >> bit & 1), rank);
  }
}

template <class Key>
void find_rows(RankedKeys const& ranked, std::uint32_t const* rows, void const* keys, std::size_t count,
               std::uint32_t* found) {
  for_ranks<Key>(ranked, keys, count,
                 [=](std::size_t i, std::uint32_t is_key, std::uint32_t rank) { found[i] = rows[rank] & is_key; });
}

template <class Key>
void find_ranks(RankedKeys const& ranked, void const* keys, std::size_t count, std::uint32_t* found) {
  for_ranks<Key>(ranked, keys, count,
                 [=](std::size_t i, std::uint32_t is_key, std::uint32_t rank) { found[i] = (rank + 1) & is_key; });
}

constexpr RankKernels kRankKernels{add_ranks, find_rows<std::uint32_t>, find_rows<std::uint64_t>,
                                   find_ranks<std::uint32_t>, find_ranks<std::uint64_t>};

}  // namespace

GARUDA_KERNELS(RankKernels, rank_kernels, kRankKernels)

}  // namespace garuda::cpu
