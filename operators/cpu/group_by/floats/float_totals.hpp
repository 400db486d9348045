// Exact sums of a column's floats, two words a group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "operators/contract/group_by_kernel.hpp"
#include "operators/cpu/group_by/floats/float_range.hpp"

namespace garuda::cpu {

/// Adds floats as integers over the column's lowest bit to words that others keep.
class FloatTotals {
 public:
  FloatTotals(contract::ValueKind kind, FixedPoint fixed_point) noexcept;

  /// Adds the values of rows [first, first + groups.size()) of `input`: the i-th to the two's complement words, low one
  /// first, at sums + stride * groups[i]. `first`: a multiple of 32 when there are nulls.
  void add(contract::AggregateInput const& input, std::uint64_t first, std::span<std::uint32_t const> groups,
           std::uint64_t* sums, std::size_t stride);
  /// Takes over what is known of the floats that `other` added.
  void merge(FloatTotals const& other) noexcept { seen_.add(other.seen_); }

  /// False: floats that were added lie elsewhere than was guessed, and their sums mean nothing.
  bool fits() const noexcept { return !fixed_.is_guess || seen_.fits(fixed_); }
  /// Sums are in units of 2^exponent.
  std::int32_t exponent() const noexcept {
    return static_cast<std::int32_t>(fixed_.position) + contract::unit_exponent(kind_);
  }

 private:
  template <class Float>
  void add_floats(contract::AggregateInput const& input, std::uint64_t first, std::span<std::uint32_t const> groups,
                  std::uint64_t* sums, std::size_t stride);

  contract::ValueKind kind_;
  FixedPoint fixed_;
  FloatRange seen_;  ///< where their place was guessed
};

}  // namespace garuda::cpu
