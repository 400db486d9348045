// Sizes in bytes as people write them.
#pragma once

#include <cstdint>
#include <string_view>

#include "garuda/error.hpp"

namespace garuda::cli {

/// Parses a number of bytes of at least 1: `1000000`, `2e9`, `1.5GB` (10^9), `256MiB` (2^20); K, M, G and T alone are
/// binary, as KiB, MiB, GiB and TiB. Case does not matter. Fractions of a byte are dropped.
/// Errors: usage, with the text.
Result<std::uint64_t> parse_size(std::string_view text);

}  // namespace garuda::cli
