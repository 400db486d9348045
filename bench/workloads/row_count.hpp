// Numbers of rows as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "garuda/error.hpp"

namespace garuda::bench {

/// Parses a number of rows: `1000000`, `6e6`, `1.5e6`, `2^27`, or with a binary unit `64K` (2^10), `16M` (2^20),
/// `1G` (2^30). At most 2^40.
/// Errors: usage, with the text and what is allowed.
Result<std::uint64_t> parse_row_count(std::string_view text);

/// The shortest of these notations that is exact: `2^27`, `3M`, `6e6`, `12345`.
std::string to_row_count(std::uint64_t rows);

}  // namespace garuda::bench
