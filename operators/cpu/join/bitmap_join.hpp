// Left rows with a match by a bitmap over the range of the right keys: no table, no partition.
#pragma once

#include <cstdint>
#include <memory>

#include "garuda/error.hpp"
#include "operators/contract/join_kernel.hpp"

namespace garuda::cpu {

/// Values in the range of right keys, at most, for each row: their bits take no more memory than keys of 32 bits.
inline constexpr std::uint64_t kBitmapFill = 32;

/// Opens the CPU path for joins without pairs: kernels only mark left rows. Slices share their right side, whose bitmap
/// is made once for all lanes, by as many threads. Phases reported: build, mark. Requires: options.key_bits is 32 or
/// 64; slices name the right side as the one to build on. Memory: bits of its keys' range, a bitmap a thread as far as
/// these take no more than the keys.
Result<std::unique_ptr<contract::JoinBackend>> open_bitmap_join(contract::BackendOptions const& options);

}  // namespace garuda::cpu
