// The bytes of each value of a column, over several arrays.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/bitmap.hpp"
#include "core/buffer.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"

namespace garuda::keys {

/// A copy of the floats of `array`, of type float16, float32 or float64, with -0.0 as +0.0 and one NaN; row 0 first.
/// Errors: out_of_memory.
Result<AlignedBuffer> canonical_floats(ArrayView const& array, TypeId type);

inline bool is_float_type(TypeId id) noexcept { return id >= TypeId::float16 && id <= TypeId::float64; }

/// Values of consecutive arrays of one type, numbered through. Equal bytes mean equal values: floats are canonical.
class ValueBytes {
 public:
  /// Borrows `parts`' memory, which the host can read. Requires: `type` is no dictionary. Errors: out_of_memory.
  static Result<ValueBytes> create(std::vector<ArrayView> parts, DataType const& type);

  std::uint64_t size() const noexcept { return first_.back(); }

  /// Calls visit(i, bytes) for the values [begin, end) in order; with no bytes, std::nullopt, for nulls.
  template <class Visit>
  void for_each(std::uint64_t begin, std::uint64_t end, Visit const& visit) const {
    while (begin < end) {
      auto const part = part_of(begin);
      auto const last = std::min(end, first_[part + 1]);
      auto const& array = parts_[part];
      auto const first = static_cast<std::int64_t>(first_[part]);
      for (; begin < last; ++begin) {
        auto const at = static_cast<std::int64_t>(begin) - first;
        if (array.is_null(at))
          visit(begin, std::optional<std::string_view>{});
        else
          visit(begin, std::optional<std::string_view>{bytes(array, value_offsets_[part] + at)});
      }
    }
  }

  bool is_null(std::uint64_t i) const noexcept {
    auto const part = part_of(i);
    return parts_[part].is_null(static_cast<std::int64_t>(i - first_[part]));
  }

  /// The bytes of value `i`; those behind a null slot are unspecified.
  std::string_view operator[](std::uint64_t i) const noexcept {
    auto const part = part_of(i);
    return bytes(parts_[part], value_offsets_[part] + static_cast<std::int64_t>(i - first_[part]));
  }

 private:
  enum class Layout : std::uint8_t { boolean, fixed, offsets32, offsets64 };

  std::size_t part_of(std::uint64_t i) const noexcept {
    if (parts_.size() == 1) return 0;
    return static_cast<std::size_t>(std::upper_bound(first_.begin() + 1, first_.end() - 1, i) - first_.begin() - 1);
  }

  std::string_view bytes(ArrayView const& part, std::int64_t at) const noexcept {
    auto const* const values = static_cast<char const*>(part.values);
    switch (layout_) {
      case Layout::boolean:
        return get_bit(static_cast<std::uint8_t const*>(part.values), at) ? std::string_view("\1", 1)
                                                                          : std::string_view("\0", 1);
      case Layout::fixed:
        return {values + at * width_, static_cast<std::size_t>(width_)};
      case Layout::offsets32: {
        auto const* const offsets = static_cast<std::int32_t const*>(part.offsets);
        return {values + offsets[at], static_cast<std::size_t>(offsets[at + 1] - offsets[at])};
      }
      case Layout::offsets64:
        break;
    }
    auto const* const offsets = static_cast<std::int64_t const*>(part.offsets);
    return {values + offsets[at], static_cast<std::size_t>(offsets[at + 1] - offsets[at])};
  }

  Result<void> make_canonical(TypeId type);

  Layout layout_ = Layout::fixed;
  std::int64_t width_ = 0;
  std::vector<ArrayView> parts_;
  std::vector<std::uint64_t> first_;         ///< of each part, then the number of values
  std::vector<std::int64_t> value_offsets_;  ///< position of each part's first value in its buffer
  std::vector<AlignedBuffer> canonical_;     ///< floats: what the parts' values point to instead
};

}  // namespace garuda::keys
