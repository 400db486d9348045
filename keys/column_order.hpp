// The values of a column in the order of their bytes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "core/buffer.hpp"
#include "core/numbers/wide_integer.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "keys/codes/key_column.hpp"

namespace garuda::keys {

/// Orders a column's rows by their values' bytes (unsigned, a prefix first; false before true), decimals of 256 bits by
/// value, each by an entry: in the high word of the value's bytes those that decide most comparisons, in the low one
/// where the value is. Equal values are not less than each other. Every entry lies between 0 and ~0, both excluded.
/// Borrows the table; safe to use from several threads.
class ColumnOrder {
 public:
  /// Blocks: reads the values twice, in parallel on the threads of the calling task arena. Takes 16 bytes a row.
  /// Requires: the column exists, in memory that the host can read. Errors: out_of_memory, cancelled.
  static Result<ColumnOrder> create(TableView table, std::size_t column, Control const& control);

  /// An entry a row; those of null rows are less than all others, and equal.
  UInt128 const* entries() const noexcept { return entries_.as<UInt128>(); }
  std::uint64_t size_bytes() const noexcept {
    return static_cast<std::uint64_t>(entries_.size_bytes()) + values_.bytes.copied_bytes() +
           values_.bytes.size() * (rows_ == nullptr ? 0 : 16);
  }

  /// `a` and `b`: entries, 0 or ~0.
  bool is_less(UInt128 a, UInt128 b) const noexcept {
    auto const key_a = static_cast<std::uint64_t>(a >> 64);
    auto const key_b = static_cast<std::uint64_t>(b >> 64);
    if (key_a != key_b || !goes_on(key_a)) return key_a < key_b;
    return values_.bytes[static_cast<std::uint64_t>(a)] < values_.bytes[static_cast<std::uint64_t>(b)];
  }

  /// The value of an entry, two's complement, low word first. Requires: a column of decimals of 256 bits.
  std::array<std::uint64_t, 4> wide_decimal(UInt128 entry) const noexcept;

  /// A row that has the entry's value.
  std::uint64_t row_of(UInt128 entry) const noexcept {
    auto const value = static_cast<std::uint64_t>(entry);
    return rows_ == nullptr ? value : rows_[value].load(std::memory_order_relaxed) - 1;
  }

 private:
  /// Bytes of a value that a key holds; its last byte says, more by one, how many of the value's there are.
  static constexpr std::size_t kKeyBytes = 7;

  explicit ColumnOrder(ColumnValues values) : values_(std::move(values)) {}

  static std::uint64_t key_of(std::string_view bytes, std::size_t depth) noexcept;
  /// Equal keys do not say everything of their values. False of ~0.
  static bool goes_on(std::uint64_t key) noexcept { return (key & 0xFF) == kKeyBytes + 2; }
  Result<std::size_t> common_bytes(Control const& control) const;
  Result<void> enter_rows(std::size_t depth, Control const& control);
  Result<void> enter_indices(TableView table, std::size_t column, std::size_t depth, Control const& control);

  ColumnValues values_;
  AlignedBuffer entries_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> rows_;  ///< dictionaries: of each value a row that has it + 1, or 0
};

}  // namespace garuda::keys
