// The exact state behind a sum, a mean, a moment or a product, in a form that does not depend on where its rows were:
// states of parts of a table merge, and are rounded once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/numbers/big_integer.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/table.hpp"
#include "operators/resolve/aggregates.hpp"
#include "operators/resolve/group_by_columns.hpp"

namespace garuda::resolve {

/// The sums that a state holds: sums and means have `x` alone, products of values have their product as `x`.
enum class StateSum : std::uint8_t { x, y, xy, xx, yy };
inline constexpr std::size_t kStateSums = 5;

/// The state of one group. Σx counts units of 2^exponents[0], Σy of 2^exponents[1], and sums of products count their
/// product; with one column both exponents are the same.
struct ExactState {
  std::uint64_t count = 0;   ///< values, or pairs, that are not null
  bool is_product = false;   ///< x is the product of all values; a magnitude of 2^64 stands for any beyond
  std::uint8_t special = 0;  ///< flags of core/numbers/float_parts.hpp; moments have kNotANumber for any of them
  std::array<std::int32_t, 2> exponents{};
  std::array<BigInteger, kStateSums> sums{};  ///< by StateSum; 0 where the function does not need it

  BigInteger const& operator[](StateSum sum) const noexcept { return sums[static_cast<std::size_t>(sum)]; }
  BigInteger& operator[](StateSum sum) noexcept { return sums[static_cast<std::size_t>(sum)]; }

  /// Adds the values behind `other`. Requires: both are of one aggregate.
  void merge(ExactState const& other);
};

/// Whether the aggregate's value is made of such a state.
bool has_exact_state(AggregateRow const& row) noexcept;

/// The state of a group that kernels have aggregated. Requires: the aggregate has one, and counts.
ExactState exact_state_of(FinaliseInput const& input, std::uint64_t group);

/// Appends `state` in the first version of its form, little endian: version, flags, special, words of each sum with
/// its sign, then count, exponents and words.
void append_exact_state(ExactState const& state, std::vector<std::byte>& bytes);

/// Reads what append_exact_state wrote. Errors: invalid_input for anything else.
Result<ExactState> read_exact_state(std::span<std::byte const> bytes);

/// Merges `states`, each as append_exact_state wrote it, and appends the result. Requires: one at least. Errors:
/// invalid_input for bytes that are no state, and for states of different aggregates.
Result<void> append_merged(std::span<std::span<std::byte const> const> states, std::vector<std::byte>& bytes);

/// Makes values of states.
class StateValues {
 public:
  enum class Made : std::uint8_t { value, null, overflow };

  /// `aggregate`: resolved for values, not for states. `second`: type of its second column, if it has one.
  StateValues(ResolvedAggregate aggregate, DataType const& second);

  ResolvedAggregate const& aggregate() const noexcept { return aggregate_; }

  /// Writes the value, in the aggregate's result type, at place `i` of `values`; nothing for null.
  Made write(ExactState const& state, std::uint64_t i, std::byte* values);

 private:
  void set_sum(std::size_t place, BigInteger const& sum);
  void set_windows(ExactState const& state);
  void set_moments(ExactState const& state);

  ResolvedAggregate aggregate_;
  contract::ValueKind kind_;
  std::vector<contract::AggregateState> states_;  ///< of one group
};

/// The error of a sum that leaves its type, which every path gives in the same words: invalid_input, with the
/// aggregate, its type and the group's keys. `keys`: the group's row of key columns; nullopt: the group is that of all
/// rows.
Error sum_overflow(ResolvedAggregate const& aggregate, std::optional<TableView> keys);

/// Makes values as garuda::values_of_states does. `keys`: those of the groups, in one batch, which the error of a value
/// beyond its type names; nullopt: the group is that of all rows.
Result<Table> values_of_states(TableView states, Schema const& rows, std::vector<Aggregate> const& aggregates,
                               std::optional<TableView> const& keys, Control const& control);

/// The product of a group's values; magnitudes beyond the type are one more than its largest.
struct Product {
  UInt128 magnitude = 1;
  bool is_negative = false;
};

// Products; see list_values.cpp.
Product product_of(FinaliseInput const& input, std::uint64_t group);
/// False when the type cannot hold it.
bool put_product(Product const& product, contract::ValueKind kind, std::uint64_t i, FinaliseOutput const& out);

// Moments; see moments.cpp.
/// Σ of the parts, over 2^sum.exponent.
BigInteger sum_of(FinaliseInput const& input, ExactSum const& sum, std::uint64_t group);
/// Whether a value of the group is infinite or NaN.
bool has_special_value(FinaliseInput const& input, std::uint64_t group);

}  // namespace garuda::resolve
