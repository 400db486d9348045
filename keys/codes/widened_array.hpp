// Key columns in a wider type: that in which they are compared, or that of a column of both sides' keys.
#pragma once

#include <cstdint>

#include "core/buffer.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "garuda/types.hpp"

namespace garuda::keys {

/// An array in memory of its own; `view` begins at offset 0.
struct WidenedArray {
  ArrayView view;
  AlignedBuffer validity;
  AlignedBuffer offsets;
  AlignedBuffer values;
};

/// The rows of `array`, of type `from`, as type `to`: a result or compared type of common_key_type where `from` is one
/// of the two columns'. Strings and binary get 64-bit offsets; rows of a dictionary its values.
/// Errors: invalid_input, for a value beyond `to`, which names row `first_row` + its own; out_of_memory.
Result<WidenedArray> widen(ArrayView const& array, DataType const& from, DataType const& to, std::uint64_t first_row);

}  // namespace garuda::keys
