// Numbers of any type as exact integers times powers of two, and what products of them need to be summed exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/numbers/wide_integer.hpp"
#include "garuda/table.hpp"
#include "operators/resolve/group_by_request.hpp"
#include "operators/run/query_run.hpp"

namespace garuda::group_by {

/// A row of a table: of the batch, counted from its columns' offsets.
struct RowPlace {
  std::size_t batch = 0;
  std::int64_t row = 0;
};

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

/// Reads the numbers of rows. Requires: a column of integers, floats, or decimals that are not wide; as many places as
/// numbers.
void read_numbers(TableView table, std::size_t column, std::span<RowPlace const> places,
                  std::span<ExactNumber> numbers);

/// The same of values that follow each other, none of them null.
void read_numbers(DataType const& type, std::byte const* values, std::span<ExactNumber> numbers);

/// Writes, as integers of `kind`, the bits [first, first + bits) of the products a[i] · b[i], counted from bit 0 of
/// 2^0, with their signs; 0 where one is null. `b` nullptr: of a[i] alone. Requires: bits < 127.
void write_products(std::span<ExactNumber const> a, ExactNumber const* b, std::int32_t first, std::uint32_t bits,
                    contract::ValueKind kind, std::byte* out);

/// The same of values that follow each other, none of them null: of their squares, or of them alone.
void write_powers(DataType const& type, std::byte const* values, std::size_t count, bool squared, std::int32_t first,
                  std::uint32_t bits, contract::ValueKind kind, std::byte* out);

/// Writes the products of integers as they are, b nullptr: the squares of a, of values that follow each other, none of
/// them null. Requires: each fits `kind`, int32 or int64.
void write_integer_products(DataType const& a_type, std::byte const* a, DataType const& b_type, std::byte const* b,
                            std::size_t count, contract::ValueKind kind, std::byte* out);

/// Writes a product's part, or what is special, of the rows at `places`: of columns of which one is wide at least.
void write_wide_values(TableView table, resolve::StateColumn const& state, std::span<RowPlace const> places,
                       std::byte* out);

/// Adds the state columns of aggregates of moments: looks for the lowest and the highest bit of each column's numbers,
/// and cuts what they and their products may be into integers of at most 127 bits, or 63, or 31. Blocks; uses the run's
/// threads. Nothing to do for a table on a device. Errors: out_of_memory, cancelled.
Result<void> cut_products(resolve::GroupByRequest& request, run::QueryRun& run);

}  // namespace garuda::group_by
