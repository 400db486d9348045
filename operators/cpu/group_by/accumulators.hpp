// Exact states of a column's groups, updated row by row.
#pragma once

#include <cstdint>
#include <span>
#include <variant>

#include "core/numbers/wide_integer.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/cpu/group_by/list_states.hpp"
#include "operators/cpu/group_by/state_array.hpp"

namespace garuda::cpu {

/// States of one column, a group each. Sums of integers take one word, and a second one from the first group on whose
/// sum leaves it; so a sum that comes back is right, and one that does not is known. Throws std::bad_alloc.
class ColumnAccumulator {
 public:
  /// Requires: no sums of floats are wanted (sums/sum_rows.hpp).
  explicit ColumnAccumulator(contract::StateRequest const& request);

  /// Makes room for `num_groups` groups; new ones have no values.
  void resize(std::uint64_t num_groups);
  /// Makes room for the values of `rows` rows, where all values are kept.
  void reserve_rows(std::uint64_t rows);
  /// Forgets all groups.
  void clear();

  /// Adds the values of rows [first, first + groups.size()) of `input`: the i-th to groups[i]. `first`: a multiple of
  /// 32 when there are nulls.
  void add(contract::AggregateInput const& input, std::uint64_t first, std::span<std::uint32_t const> groups);

  /// Adds the groups from_groups[i] of `from` to the groups to_groups[i]. Requires: lists are bounded.
  void merge(ColumnAccumulator const& from, std::span<std::uint32_t const> from_groups,
             std::span<std::uint32_t const> to_groups);

  /// Values of each group that are not null. Requires: they are counted.
  StateArray<std::uint64_t> const& counts() const noexcept { return counts_; }

  /// The states of `groups`, in their order; of lists without a bound: of all groups.
  contract::AggregateState states_of(std::span<std::uint32_t const> groups, Control const* control) const;

 private:
  template <class T>
  void add_values(contract::AggregateInput const& input, std::uint64_t first, std::span<std::uint32_t const> groups);
  template <class T>
  void add_extremes(contract::AggregateInput const& input, std::uint64_t first, std::span<std::uint32_t const> groups);
  template <class Sum>
  StateArray<Sum>& sums() noexcept;
  /// Notes that a group's sum left its words.
  void carry(std::uint32_t group, std::int64_t high);
  template <class Sum>
  void merge_sums(ColumnAccumulator& into, std::span<std::uint32_t const> from_groups,
                  std::span<std::uint32_t const> to_groups) const;
  template <class Sum>
  void write_sums(std::span<std::uint32_t const> groups, contract::AggregateState& state) const;

  contract::StateRequest request_;
  std::uint64_t num_groups_ = 0;
  StateArray<std::uint64_t> counts_;
  StateArray<std::int64_t> signed_sums_;
  StateArray<std::uint64_t> unsigned_sums_;
  StateArray<Int128> wide_sums_;
  StateArray<std::int64_t> high_;  ///< what overflowed, in units of 2^bits of a sum; empty until one does
  StateArray<std::uint64_t> minima_, maxima_;
  StateArray<UInt128> wide_minima_, wide_maxima_;
  std::variant<std::monostate, ListStates<std::uint64_t>, ListStates<UInt128>> lists_;
};

}  // namespace garuda::cpu
