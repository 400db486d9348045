// Groups of a slice and the partial states of their columns, on the host, and the CPU path's kernels that give them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/contract/group_by_kernel.hpp"

namespace garuda::cpu {

/// Dense group ids in the order of the groups' first rows.
struct RowGroups {
  std::vector<std::uint32_t> ids;    ///< a row
  std::vector<std::uint32_t> heads;  ///< a group: its first row, ascending
};

/// Groups the rows of `slice` (fewer than 2^32) on the calling thread: by a table over the key range when that is
/// small, else by a hash table with linear probing. `control` may be null. Errors: out_of_memory, cancelled.
Result<RowGroups> group_rows(contract::GroupSlice const& slice, Control const* control);

/// Computes the states that `input` asks for on the calling thread. `ids`: the group of each row, below `num_groups`.
/// Integer sums are kept in 128 or 256 bits, float sums in windows of 128 bits: exact in any order.
/// `control` may be null. Errors: out_of_memory, cancelled.
Result<contract::AggregateState> aggregate_rows(contract::AggregateInput const& input,
                                                std::span<std::uint32_t const> ids, std::uint64_t num_groups,
                                                Control const* control);

/// Gives the sums of a state at least `words` words a group, which hold the same values.
void widen_sums(contract::ValueKind kind, std::uint32_t words, contract::AggregateState& state);

/// Opens the CPU path. A kernel works on the thread that calls it; slices run in parallel on their lanes. Of the tuning
/// nothing applies. Phases reported: group, aggregate.
/// `options.control` and `options.stats` may be null.
Result<std::unique_ptr<contract::GroupByBackend>> open_cpu_group_by(contract::GroupByBackendOptions const& options);

}  // namespace garuda::cpu
