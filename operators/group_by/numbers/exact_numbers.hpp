// Numbers of any type read as exact integers times powers of two, and parts of their products written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "core/numbers/float_parts.hpp"
#include "core/numbers/half_float.hpp"
#include "core/numbers/integer_types.hpp"
#include "core/numbers/wide_integer.hpp"
#include "core/type_rows.hpp"
#include "garuda/table.hpp"
#include "garuda/types.hpp"
#include "operators/resolve/group_by_columns.hpp"

namespace garuda::group_by {

/// ± magnitude · 2^exponent.
struct ExactNumber {
  UInt128 magnitude = 0;  ///< 0 of nulls, infinities and NaNs
  std::int32_t exponent = 0;
  bool is_negative = false;
  bool is_special = false;  ///< infinite or NaN
  bool is_null = false;
};

/// Whether a number of the type has more bits than an ExactNumber.
inline bool is_wide(DataType const& type) noexcept { return type.id == TypeId::decimal256; }

using Words256 = std::array<std::uint64_t, 4>;

/// A float of 16 bits.
struct Half {
  std::uint16_t bits = 0;
};

/// Inlined: loops over rows take little else.
template <class T>
[[gnu::always_inline]] inline ExactNumber number_of(T value) noexcept {
  if constexpr (std::is_same_v<T, Half>) {
    return number_of(half_value(value.bits));
  } else if constexpr (std::is_floating_point_v<T>) {
    auto const parts = split_float(value);
    return {parts.magnitude, static_cast<std::int32_t>(parts.position) + kUnitExponent<T>, parts.negative,
            parts.special != 0};
  } else {
    bool const is_negative = value < 0;
    auto const bits = static_cast<UInt128>(value);
    return {is_negative ? ~bits + 1 : bits, 0, is_negative, false};
  }
}

/// Calls use with a null pointer to the type of the column's values.
template <class Use>
void with_type(DataType const& type, Use const& use) {
  if (type.id == TypeId::float16) return use(static_cast<Half*>(nullptr));
  if (type.id == TypeId::float32) return use(static_cast<float*>(nullptr));
  if (type.id == TypeId::float64) return use(static_cast<double*>(nullptr));
  if (type.id == TypeId::decimal128) return use(static_cast<Int128*>(nullptr));
  visit_integers(byte_width(type), type_row(type.id).is_signed, use);
}

/// A row of a table: of the batch, counted from its columns' offsets.
struct RowPlace {
  std::size_t batch = 0;
  std::int64_t row = 0;
};

/// Reads the numbers of rows. Requires: a column of integers, floats, or decimals that are not wide; as many places as
/// numbers.
void read_numbers(TableView table, std::size_t column, std::span<RowPlace const> places,
                  std::span<ExactNumber> numbers);

/// Reads values that follow each other, none of them null.
void read_numbers(DataType const& type, std::byte const* values, std::span<ExactNumber> numbers);

/// Writes, as integers of `kind`, the bits [first, first + bits) of the products a[i] · b[i], counted from bit 0 of
/// 2^0, with their signs; 0 where one is null. `b` nullptr: of a[i] alone. Requires: bits < 127.
void write_products(std::span<ExactNumber const> a, ExactNumber const* b, std::int32_t first, std::uint32_t bits,
                    contract::ValueKind kind, std::byte* out);

/// write_products() of values that follow each other, none of them null: of their squares, or of them alone.
void write_powers(DataType const& type, std::byte const* values, std::size_t count, bool squared, std::int32_t first,
                  std::uint32_t bits, contract::ValueKind kind, std::byte* out);

/// Writes the products of integers as they are, b nullptr: the squares of a, of values that follow each other, none of
/// them null. Requires: each fits `kind`, int32 or int64.
void write_integer_products(DataType const& a_type, std::byte const* a, DataType const& b_type, std::byte const* b,
                            std::size_t count, contract::ValueKind kind, std::byte* out);

/// Values of both columns of a product that follow each other, none of them null; nullptr: no factor.
struct FactorColumn {
  DataType const* type = nullptr;
  std::byte const* values = nullptr;
};

/// Writes words of 64 bits, each the sum of `terms` over the factors' values. Requires: integers, none negative, below
/// 2^32; every term's factors are there.
void write_packed(FactorColumn const& x, FactorColumn const& y, std::size_t count,
                  std::span<resolve::PackedProduct const> terms, std::byte* out);

/// Writes a product's part, or what is special, of the rows at `places`: of columns of which one is wide at least.
void write_wide_values(TableView table, resolve::StateColumn const& state, std::span<RowPlace const> places,
                       std::byte* out);

}  // namespace garuda::group_by
