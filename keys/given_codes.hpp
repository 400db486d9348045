// Codes of key columns whose type has none of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/types.hpp"
#include "keys/codes/attribute_reader.hpp"
#include "keys/codes/key_column.hpp"

namespace garuda::keys {

/// Codes of columns of one or two tables, compared as `type`, a column each: none where the type has its own, those of
/// their bytes if there are few, else numbers of their values. Of two columns of which one has by far fewer rows,
/// values that only the other has may share one code. Runs on the threads of the calling task arena. `hash_bits`: as
/// number_values takes them. Errors: cancelled, out_of_memory. Throws std::bad_alloc.
Result<std::vector<GivenCodes>> give_codes(std::span<KeyColumn const> columns, DataType const& type,
                                           Control const& control, std::uint32_t hash_bits);

}  // namespace garuda::keys
