// Aggregates as data: what each one needs of a kernel, and how its partial states become values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/types.hpp"
#include "operators/contract/group_by_kernel.hpp"

namespace garuda::resolve {

/// Types that one row of the table treats alike.
enum class ValueClass : std::uint8_t {
  none,  ///< can only be counted
  signed_integer,
  unsigned_integer,
  decimal,
  floating,
  temporal,
  bytes,  ///< compared by their bytes
};

/// How the values of a column enter a kernel.
struct ValueSource {
  ValueClass value_class = ValueClass::none;
  contract::ValueKind kind = contract::ValueKind::none;
};

ValueSource value_source(DataType const& type) noexcept;

/// Positions of groups: in their own order, or in that of `order`.
struct GroupRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint64_t const* order = nullptr;

  std::uint64_t operator[](std::uint64_t i) const noexcept { return order == nullptr ? first + i : order[first + i]; }
};

/// What a value is made of.
struct FinaliseInput {
  contract::AggregateState const& state;
  contract::ValueKind kind = contract::ValueKind::none;
  DataType const& input;
  DataType const& result;
};

/// Writes the values of `groups` to `out`, fixed-width values of the result's type; groups without values get anything.
/// Returns the first group whose value the result's type cannot hold.
using Finalise = std::optional<std::uint64_t> (*)(FinaliseInput const& input, GroupRange const& groups, std::byte* out);

/// One row of the table of aggregates.
struct AggregateRow {
  AggregateFunction function;
  ValueClass value_class;
  contract::StateSet states;  ///< that it is made of
  bool null_when_empty;
  DataType (*result_type)(DataType const& input);
  Finalise finalise;  ///< nullptr: the value is the column's at a row that has the state's entry
};

/// The row for a function of a column of class `value_class`, or nullptr when there is none.
AggregateRow const* find_aggregate(AggregateFunction function, ValueClass value_class) noexcept;

/// True when group `group` has no value that takes part.
inline bool is_empty_group(contract::AggregateState const& state, std::uint64_t group) noexcept {
  return !state.counts.empty() && state.counts[group] == 0;
}

}  // namespace garuda::resolve
