// Exact states of a column's groups, updated row by row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "core/numbers/wide_integer.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/cpu/group_by/list_states.hpp"
#include "operators/cpu/group_by/state_array.hpp"

namespace garuda::cpu {

/// A bit that no bit of a column's floats lies below, counted from the kind's unit (unit_exponent), such that all of
/// them, and every sum of them, are integers of 127 bits and a sign over it.
struct FixedPoint {
  std::uint32_t position = 0;
  std::uint32_t most_shift = 0;  ///< the lowest bit of no float's mantissa lies so much higher, except for zeros
  bool is_guess = false;         ///< floats that are added are looked at: some may be elsewhere
};

/// Looks for a FixedPoint of the floats of a column; values may be added from several threads through `add` of their
/// own FloatRange.
class FloatRange {
 public:
  /// Of rows [first, first + count) of `input`.
  void add(contract::AggregateInput const& input, std::uint64_t first, std::uint64_t count);
  void add(FloatRange const& other) noexcept;

  /// nullopt when sums of `num_rows` values would not fit, or when there are infinities or NaNs.
  std::optional<FixedPoint> fixed_point(std::uint64_t num_rows) const noexcept;
  /// The same with room on both sides for `num_rows` values of which these are a sample.
  std::optional<FixedPoint> guess(std::uint64_t num_rows) const noexcept;
  /// Whether all values are where `point` has them.
  bool fits(FixedPoint point) const noexcept;

 private:
  template <class Float>
  void add_values(contract::AggregateInput const& input, std::uint64_t first, std::uint64_t count);
  /// Position of the lowest mantissa's lowest bit, and how much higher that of the highest is.
  FixedPoint extent() const noexcept;
  std::uint32_t most_shift(std::uint64_t num_rows) const noexcept;

  std::uint32_t least_ = 0xFFFF'FFFF;  ///< exponent field of the values but zero
  std::uint32_t largest_ = 0;
  std::uint32_t exponent_limit_ = 0;  ///< exponent field of infinities and NaNs
  std::uint32_t mantissa_bits_ = 0;
};

/// States of one column, a group each. Sums of integers take one word, and a second one from the first group on whose
/// sum leaves it; so a sum that comes back is right, and one that does not is known. Sums of floats are integers over
/// the column's lowest bit. Throws std::bad_alloc.
class ColumnAccumulator {
 public:
  /// `fixed_point`: of floats whose sum is wanted.
  ColumnAccumulator(contract::StateRequest const& request, FixedPoint fixed_point);

  /// Makes room for `num_groups` groups; new ones have no values.
  void resize(std::uint64_t num_groups);
  /// Forgets all groups.
  void clear();

  /// Adds the values of rows [first, first + groups.size()) of `input`: the i-th to groups[i]. `first`: a multiple of
  /// 32 when there are nulls.
  void add(contract::AggregateInput const& input, std::uint64_t first, std::span<std::uint32_t const> groups);

  /// Adds the groups from_groups[i] of `from` to the groups to_groups[i]. Requires: lists are bounded.
  void merge(ColumnAccumulator const& from, std::span<std::uint32_t const> from_groups,
             std::span<std::uint32_t const> to_groups);

  /// False: floats that were added lie elsewhere than was guessed, and their sums mean nothing.
  bool fits() const noexcept { return !fixed_.is_guess || seen_.fits(fixed_); }

  /// Values of each group that are not null. Requires: they are counted.
  StateArray<std::uint64_t> const& counts() const noexcept { return counts_; }

  /// The states of `groups`, in their order; of lists without a bound: of all groups.
  contract::AggregateState states_of(std::span<std::uint32_t const> groups) const;

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
  FixedPoint fixed_;
  FloatRange seen_;  ///< of floats, where their place was guessed
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
