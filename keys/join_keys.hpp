// Keys of a join: the key columns of two tables as words of one layout.
#pragma once

#include <cstdint>
#include <span>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "keys/encoded_keys.hpp"
#include "keys/key_encoder.hpp"
#include "keys/key_types.hpp"

namespace garuda::keys {

struct EncodedJoinKeys {
  EncodedKeys left, right;
  std::uint64_t base = 0;  ///< of one key column: word = key (sign-extended to 64 bits) - base, modulo 2^64
  bool has_nulls = false;  ///< of kept nulls, on either side; of one key column word 0 is null then
};

/// Encodes the key columns of two tables, in parallel on the threads of the calling task arena. Words are 32 bits wide
/// when the keys of both sides together take no more, 64 otherwise. Of one column they are key - base, the base being
/// the smallest key of both sides; it is 0 when that lets a column be borrowed: one batch with rows, no nulls, a type
/// as wide as the words, aligned to them, and for words of 32 bits no negative key on either side. Decimals of 128 bits
/// are accepted when every value fits 64 bits. What is borrowed must outlive the result.
/// `nulls`: whether rows with null keys have words, the same on both sides.
/// Requires: as many columns of both tables, at least one, and they exist. Errors: those of common_key_type;
/// invalid_input for a decimal value beyond 64 bits (the first such row is named) and for a column in device memory;
/// limit_exceeded when the keys of a row take more than 64 bits; out_of_memory; cancelled.
Result<EncodedJoinKeys> encode_join_keys(KeyColumns const& left, KeyColumns const& right, Control const& control,
                                         NullKeys nulls = NullKeys::left_out);

}  // namespace garuda::keys
