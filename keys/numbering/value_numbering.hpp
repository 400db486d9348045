// Codes of a list of values by their bytes: equal values, and only they, get equal codes.
#pragma once

#include <cstdint>

#include "core/buffer.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "keys/codes/value_bytes.hpp"

namespace garuda::keys {

/// Codes of a list of values.
struct ValueCodes {
  AlignedBuffer codes;          ///< u32 a value; kNullCode: null
  std::uint64_t num_codes = 0;  ///< from kNullCode on, codes are unspecified
};

/// Numbers the distinct values from 0, the same numbers in every run. In parallel on the threads of the calling task
/// arena: with a table a thread while there are few distinct values, otherwise by sections of their hashes, one table a
/// section. Each value is hashed once. Values of one hash are told apart by their bytes: codes are exact whatever the
/// hash does, of which `hash_bits` bits are kept. Throws std::bad_alloc. Errors: out_of_memory, cancelled.
Result<ValueCodes> number_values(ValueBytes const& values, Control const& control, std::uint32_t hash_bits = 64);

}  // namespace garuda::keys
