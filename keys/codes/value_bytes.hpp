// The bytes of each value of a column, over several arrays.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/bitmap.hpp"
#include "core/buffer.hpp"
#include "core/variable_value.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"

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

  /// The same of decimals of 256 bits, as bytes of their order: the highest first, its sign flipped.
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

}  // namespace garuda::keys
