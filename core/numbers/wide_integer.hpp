// 128-bit integers, which every compiler garuda builds with has, though the standard has none.
#pragma once

#include <cstdint>

namespace garuda {

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

/// Of two words, the low one first.
inline UInt128 wide_word(std::uint64_t const* words) noexcept { return (UInt128{words[1]} << 64) | words[0]; }

}  // namespace garuda
