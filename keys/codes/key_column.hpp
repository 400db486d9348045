// A key column as it is read: the arrays of its table, or copies in a wider type, and the bytes of its values.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/bitmap.hpp"
#include "core/buffer.hpp"
#include "core/parallel_blocks.hpp"
#include "core/variable_value.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "garuda/types.hpp"

namespace garuda::keys {

/// A copy of the floats of `array`, of type float16, float32 or float64, with -0.0 as +0.0 and one NaN; row 0 first.
/// Errors: out_of_memory.
Result<AlignedBuffer> canonical_floats(ArrayView const& array, TypeId type);

inline bool is_float_type(TypeId id) noexcept { return id >= TypeId::float16 && id <= TypeId::float64; }

/// The decimal behind bytes of its order (ValueBytes::add_in_order), two's complement, low word first.
std::array<std::uint64_t, 4> decimal_of_order(std::string_view bytes) noexcept;

/// Values of consecutive arrays, numbered through. Equal bytes mean equal values: floats are canonical.
class ValueBytes {
 public:
  /// Adds the values of `parts`, whose memory it borrows and which the host can read. Requires: `type` is no
  /// dictionary; it is the type of all parts added before, or strings and binary of other layouts. Errors:
  /// out_of_memory.
  Result<void> add(std::vector<ArrayView> const& parts, DataType const& type);

  /// Adds decimals of 256 bits as bytes of their order: the highest first, its sign flipped.
  Result<void> add_in_order(std::vector<ArrayView> const& parts);

  std::uint64_t size() const noexcept { return first_.back(); }

  /// Memory that it does not borrow.
  std::uint64_t copied_bytes() const noexcept {
    std::uint64_t bytes = 0;
    for (auto const& copy : copies_) bytes += static_cast<std::uint64_t>(copy.size_bytes());
    return bytes;
  }

  /// Calls visit(i, bytes) for the values [begin, end) in order; with no bytes, std::nullopt, for nulls.
  template <class Visit>
  void for_each(std::uint64_t begin, std::uint64_t end, Visit const& visit) const {
    while (begin < end) {
      auto const at_part = part_of(begin);
      auto const last = std::min(end, first_[at_part + 1]);
      auto const& part = parts_[at_part];
      auto const first = static_cast<std::int64_t>(first_[at_part]);
      for (; begin < last; ++begin) {
        auto const at = static_cast<std::int64_t>(begin) - first;
        if (part.array.is_null(at))
          visit(begin, std::optional<std::string_view>{});
        else
          visit(begin, std::optional<std::string_view>{bytes(part, part.value_offset + at)});
      }
    }
  }

  bool is_null(std::uint64_t i) const noexcept {
    auto const part = part_of(i);
    return parts_[part].array.is_null(static_cast<std::int64_t>(i - first_[part]));
  }

  /// The bytes of value `i`; those behind a null slot are unspecified.
  std::string_view operator[](std::uint64_t i) const noexcept {
    auto const part = part_of(i);
    return bytes(parts_[part], parts_[part].value_offset + static_cast<std::int64_t>(i - first_[part]));
  }

 private:
  struct Part {
    ArrayView array;
    std::optional<ValueLayout> layout;  ///< nullopt: fixed width
    std::int32_t width = 0;             ///< 0: bits
    std::int64_t value_offset = 0;      ///< position of its first value in its buffer
  };

  std::size_t part_of(std::uint64_t i) const noexcept {
    if (parts_.size() == 1) return 0;
    return static_cast<std::size_t>(std::upper_bound(first_.begin() + 1, first_.end() - 1, i) - first_.begin() - 1);
  }

  void add(Part part, AlignedBuffer copy);

  static std::string_view bytes(Part const& part, std::int64_t at) noexcept {
    if (part.layout) return variable_value(part.array, *part.layout, at);
    if (part.width > 0)
      return {static_cast<char const*>(part.array.values) + at * part.width, static_cast<std::size_t>(part.width)};
    return get_bit(static_cast<std::uint8_t const*>(part.array.values), at) ? std::string_view("\1", 1)
                                                                            : std::string_view("\0", 1);
  }

  std::vector<Part> parts_;
  std::vector<std::uint64_t> first_{0};  ///< of each part, then the number of values
  std::vector<AlignedBuffer> copies_;    ///< what the parts' values point to instead of the arrays'
};

/// An array in memory of its own; `view` begins at offset 0.
struct WidenedArray {
  ArrayView view;
  AlignedBuffer validity;
  AlignedBuffer offsets;
  AlignedBuffer values;
};

/// The rows of `array`, of type `from`, as type `to`: a result or compared type of common_key_type where `from` is one
/// of the two columns'. Strings and binary get 64-bit offsets; rows of a dictionary its values.
/// Errors: invalid_input, for a value beyond `to`, which names row `first_row` + its own; out_of_memory.
Result<WidenedArray> widen(ArrayView const& array, DataType const& from, DataType const& to, std::uint64_t first_row);

/// The arrays of a column, or copies of them in another type.
struct KeyColumn {
  Field field;                      ///< of the table
  DataType type;                    ///< of the arrays
  std::vector<ArrayView> arrays;    ///< a batch each
  std::vector<WidenedArray> owned;  ///< what copies refer to; empty: the arrays are the table's

  std::uint64_t owned_bytes() const noexcept {
    std::int64_t bytes = 0;
    for (auto const& array : owned)
      bytes += array.validity.size_bytes() + array.offsets.size_bytes() + array.values.size_bytes();
    return static_cast<std::uint64_t>(bytes);
  }
};

/// Strings and binary, not dictionaries of them.
bool has_bytes(DataType const& type) noexcept;

/// The column, to be compared as type `as`: its own, or one of common_key_type. It is copied unless its values extend
/// to those of `as`, or have the same bytes. Copying runs on the threads of the calling task arena. Borrows the table.
/// Errors: invalid_input for a column in device memory, and those of widen; out_of_memory, cancelled.
Result<KeyColumn> open_key_column(TableView table, std::size_t column, DataType const& as, Control const& control);

/// The values that a column's rows refer to: its own, then value i is that of row i; or those of its dictionaries, each
/// distinct one once.
struct ColumnValues {
  ValueBytes bytes;
  std::vector<std::uint64_t> first_value;  ///< of dictionaries: per batch, first value of its dictionary; else empty
};

/// Adds the values of a column to those of others; returns, of a dictionary, the first value of each batch's.
/// `in_order`: decimals of 256 bits as bytes of their order. Borrows `column`. Errors: out_of_memory.
Result<std::vector<std::uint64_t>> add_values(KeyColumn const& column, ValueBytes& values, bool in_order = false);

/// Calls body(array, begin, end, row) for rows [begin, end) of consecutive arrays, the first of which is row `row` of
/// all: pieces of blocks of kBlockRows rows, each of which begins with a piece of its own. Runs on the threads of the
/// calling task arena. Errors: cancelled.
template <class Body>
Result<void> for_array_rows(std::span<ArrayView const> arrays, Control const& control, Body const& body) {
  std::vector<std::uint64_t> firsts{0};
  for (auto const& array : arrays) firsts.push_back(firsts.back() + static_cast<std::uint64_t>(array.length));
  return for_each_range(firsts.back(), &control, [&](std::uint64_t row, std::uint64_t last) {
    auto a = static_cast<std::size_t>(std::ranges::upper_bound(firsts, row) - firsts.begin() - 1);
    for (; row < last; ++a) {
      auto const end = std::min(last, firsts[a + 1]);
      if (row < end)
        body(a, static_cast<std::int64_t>(row - firsts[a]), static_cast<std::int64_t>(end - firsts[a]), row);
      row = end;
    }
  });
}

/// The values of a column, those of decimals of 256 bits in their order. Borrows the table. Requires: the column is in
/// memory that the host can read. Errors: out_of_memory.
Result<ColumnValues> values_of(TableView table, std::size_t column);

}  // namespace garuda::keys
