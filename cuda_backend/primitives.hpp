// Prefix sums and sorts of device arrays, by CUB, with scratch memory of a lane, and gathers. Errors of all:
// limit_exceeded, out_of_memory, device_failure.
#pragma once

#include <cstdint>

#include "cuda_backend/lane.hpp"
#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

/// Exclusive prefix sums of `count` words. Sum: u32 or u64.
template <class Sum>
Result<void> sum_up(Lane& lane, std::uint32_t const* words, Sum* sums, std::uint32_t count);

/// Sorts values by the low `bits` bits of their keys, stable, into other arrays. Inputs stay as they are. Key and
/// Value: u32 or u64.
template <class Key, class Value>
Result<void> sort_rows(Lane& lane, Key const* keys, Key* sorted_keys, Value const* rows, Value* sorted_rows,
                       std::uint32_t count, std::uint32_t bits);

/// target[i] = column[rows[i]] of `count` rows.
Result<void> gather(Lane& lane, GarudaCudaColumn const& column, std::uint32_t const* rows, std::uint64_t count,
                    void* target);

}  // namespace garuda::cuda_backend
