// Sorting the values of a column by their bytes.
#pragma once

#include <cstdint>
#include <span>

#include "core/buffer.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "keys/value_bytes.hpp"

namespace garuda::keys {

/// Positions in `chosen`, u32 each, ascending with the bytes of the values there (unsigned, a prefix first).
///   chosen  positions in `values`, of different values that are not null, at most 2^32 - 1
/// Sorts seven bytes at a time, first those behind what all values begin with: only values that agree in them are
/// looked at again. In parallel on the threads of the calling task arena; looks at the cancellation flag after each
/// block of values. Takes 32 bytes a value beside the result. Throws std::bad_alloc. Errors: out_of_memory, cancelled.
Result<AlignedBuffer> sort_values(ValueBytes const& values, std::span<std::uint64_t const> chosen,
                                  Control const& control);

}  // namespace garuda::keys
