// 128-bit integers, which every compiler garuda builds with has, though the standard has none.
#pragma once

namespace garuda {

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

}  // namespace garuda
