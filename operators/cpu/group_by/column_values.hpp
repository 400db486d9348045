// The values of an AggregateInput by their C++ types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "core/load.hpp"
#include "core/look_ahead.hpp"
#include "core/numbers/ordered_value.hpp"
#include "core/numbers/wide_integer.hpp"
#include "garuda/error.hpp"
#include "operators/contract/group_by_kernel.hpp"

namespace garuda::cpu {

inline bool is_valid(contract::AggregateInput const& input, std::uint64_t row) noexcept {
  return input.validity.empty() || ((input.validity[row / 32] >> (row % 32)) & 1) != 0;
}

template <class T>
T value_at(contract::AggregateInput const& input, std::uint64_t row) noexcept {
  return load<T>(reinterpret_cast<std::byte const*>(input.values.data()), static_cast<std::int64_t>(row));
}

/// Calls body(row, groups[row - first]) for the rows [first, first + groups.size()) that have a value.
template <class Body>
void for_valid_rows(contract::AggregateInput const& input, std::uint64_t first, std::span<std::uint32_t const> groups,
                    Body const& body) {
  if (input.validity.empty()) {
    for (std::size_t i = 0; i < groups.size(); ++i) body(first + i, groups[i]);
    return;
  }
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (is_valid(input, first + i)) body(first + i, groups[i]);
}

/// Calls body(groups[row - first], value of the row) for the rows [first, first + groups.size()) that have a value.
template <class T, class Body>
void for_values(contract::AggregateInput const& input, std::uint64_t first, std::span<std::uint32_t const> groups,
                Body const& body) {
  auto const* const values = reinterpret_cast<std::byte const*>(input.values.data()) + first * sizeof(T);
  // By value: what is captured by reference would be read again for every row.
  auto const add = [=](std::size_t i) { body(groups[i], load<T>(values, static_cast<std::int64_t>(i))); };
  if (input.validity.empty()) return for_each_ahead<T>(values, groups.size(), add);
  for_each_ahead<T>(values, groups.size(), [=](std::size_t i) {
    if (is_valid(input, first + i)) add(i);
  });
}

/// Rows of one group: `first` and those behind it, or, of these, the ones at `positions`.
struct RowsOfOne {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint16_t const* positions = nullptr;  ///< nullptr: all
  bool have_short_sums = false;              ///< 64 bits hold the sums of any of the values, which are integers of 64
};

/// Calls body(row - rows.first) for the rows that have a value.
template <class Body>
void for_valid_rows_of_one(contract::AggregateInput const& input, RowsOfOne const& rows, Body body) {
  auto const for_all = [&](auto position_of) {
    if (input.validity.empty()) {
      for (std::uint64_t i = 0; i < rows.count; ++i) body(position_of(i));
      return;
    }
    for (std::uint64_t i = 0; i < rows.count; ++i)
      if (is_valid(input, rows.first + position_of(i))) body(position_of(i));
  };
  if (rows.positions == nullptr) return for_all([](std::uint64_t i) { return i; });
  for_all([positions = rows.positions](std::uint64_t i) { return std::uint64_t{positions[i]}; });
}

/// Calls body(value of the row) for the rows that have a value.
template <class T, class Body>
void for_values_of_one(contract::AggregateInput const& input, RowsOfOne const& rows, Body body) {
  auto const* const values = reinterpret_cast<std::byte const*>(input.values.data()) + rows.first * sizeof(T);
  for_valid_rows_of_one(input, rows, [&](std::uint64_t i) { body(load<T>(values, static_cast<std::int64_t>(i))); });
}

/// Calls visit with a null pointer to the C++ type of a value. Requires: kind is not none.
template <class Visitor>
auto visit_kind(contract::ValueKind kind, Visitor const& visit) {
  switch (kind) {
    case contract::ValueKind::int32:
      return visit(static_cast<std::int32_t*>(nullptr));
    case contract::ValueKind::uint32:
      return visit(static_cast<std::uint32_t*>(nullptr));
    case contract::ValueKind::int64:
      return visit(static_cast<std::int64_t*>(nullptr));
    case contract::ValueKind::uint64:
      return visit(static_cast<std::uint64_t*>(nullptr));
    case contract::ValueKind::int128:
      return visit(static_cast<Int128*>(nullptr));
    case contract::ValueKind::float32:
      return visit(static_cast<float*>(nullptr));
    case contract::ValueKind::float64:
      return visit(static_cast<double*>(nullptr));
    case contract::ValueKind::bytes:
      return visit(static_cast<UInt128*>(nullptr));
    case contract::ValueKind::none:
      break;
  }
  throw LogicError("counts alone have no values");
}

/// The word in which the extremes of values of type T are kept.
template <class T>
using OrderedOf = std::conditional_t<sizeof(T) == sizeof(UInt128), UInt128, std::uint64_t>;

/// `order` of bytes; of all other types nullptr, as the compiler is to know.
template <class T>
keys::ColumnOrder const* order_of(keys::ColumnOrder const* order) noexcept {
  return std::is_same_v<T, UInt128> ? order : nullptr;
}

/// Whether one such word stands for less than another: where they are bytes, `order` says so.
template <class Word>
bool is_less([[maybe_unused]] keys::ColumnOrder const* order, Word a, Word b) noexcept {
  if constexpr (std::is_same_v<Word, UInt128>)
    if (order != nullptr) return order->is_less(a, b);
  return a < b;
}

/// The order-preserving unsigned map of a value.
template <class T>
OrderedOf<T> ordered(T value) noexcept {
  if constexpr (std::is_same_v<T, Int128>)
    return static_cast<UInt128>(value) ^ (UInt128{1} << 127);
  else if constexpr (std::is_floating_point_v<T>)
    return ordered_from_bits(canonical_bits(value));
  else if constexpr (std::is_signed_v<T> && !std::is_same_v<T, UInt128>)
    return ordered_signed(static_cast<std::make_unsigned_t<T>>(value));
  else
    return value;
}

}  // namespace garuda::cpu
