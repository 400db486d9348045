// Partial states of a column's groups, on the host.
#pragma once

#include <cstdint>
#include <span>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/contract/group_by_kernel.hpp"

namespace garuda::cpu {

/// Computes the states that `input` asks for on the calling thread. `ids`: the group of each row, below `num_groups`.
/// Integer sums are kept in 128 or 256 bits, float sums in windows of 128 bits: exact in any order.
/// `control` may be null. Errors: out_of_memory, cancelled.
Result<contract::AggregateState> aggregate_rows(contract::AggregateInput const& input,
                                                std::span<std::uint32_t const> ids, std::uint64_t num_groups,
                                                Control const* control);

}  // namespace garuda::cpu
