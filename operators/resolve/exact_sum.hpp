// Rounds exact sums to numbers: to nearest even, once.
#pragma once

#include <cstdint>
#include <span>

#include "core/numbers/wide_integer.hpp"
#include "operators/contract/group_by_kernel.hpp"

namespace garuda::resolve {

/// The double nearest to (two's complement integer of `words`, low word first, at most 36 of them) · 2^exponent; a tie
/// goes to the even mantissa. Zero is +0.0, and numbers beyond the largest double are infinite.
double round_to_double(std::span<std::uint64_t const> words, std::int32_t exponent) noexcept;

/// The double nearest to value · 2^exponent, with the same rules.
double round_to_double(Int128 value, std::int32_t exponent) noexcept;

/// The sum of group `group`, rounded once: the canonical NaN when it has a NaN or both infinities. `kind`: of the
/// values.
double round_float_sum(contract::FloatSums const& sums, std::uint64_t group, contract::ValueKind kind) noexcept;

}  // namespace garuda::resolve
