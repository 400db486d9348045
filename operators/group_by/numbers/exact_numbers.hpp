// Numbers of any type read as exact integers times powers of two, and parts of their products written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "garuda/table.hpp"
#include "operators/group_by/numbers/exact_number.hpp"
#include "operators/resolve/group_by_columns.hpp"

namespace garuda::group_by {

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
