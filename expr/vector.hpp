// Values of an expression for a block of rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "core/numbers/wide_integer.hpp"
#include "garuda/types.hpp"

namespace garuda::expr {

/// The machine type that values are computed in. Integers of 8 and 16 bits are computed in 32, dates and times in the
/// integers that they are stored as, float16 in float32, decimals of at most 128 bits in int128. Strings and binary are
/// views of their bytes.
enum class Kind : std::uint8_t { boolean, int32, int64, uint32, uint64, float32, float64, int128, bytes };

/// Returns the kind of a type's values, for a dictionary that of its values; nullopt: expressions do not compute with
/// the type.
std::optional<Kind> kind_of(DataType const& type) noexcept;

/// Returns body(T{}), where T holds values of the kind, which is not int128 or bytes. A boolean is a byte, 0 or 1.
template <class Body>
decltype(auto) with_machine_kind(Kind kind, Body const& body) {
  switch (kind) {
    case Kind::int32:
      return body(std::int32_t{});
    case Kind::int64:
      return body(std::int64_t{});
    case Kind::uint32:
      return body(std::uint32_t{});
    case Kind::uint64:
      return body(std::uint64_t{});
    case Kind::float32:
      return body(float{});
    case Kind::float64:
      return body(double{});
    default:
      return body(std::uint8_t{});
  }
}

/// Returns body(T{}), where T holds values of the kind.
template <class Body>
decltype(auto) with_kind(Kind kind, Body const& body) {
  if (kind == Kind::int128) return body(Int128{});
  if (kind == Kind::bytes) return body(std::string_view{});
  return with_machine_kind(kind, body);
}

/// Rows of a block at most: a few vectors of so many values stay in a core's first-level cache.
inline constexpr std::size_t kVectorRows = 1'024;

/// Values of one block, borrowed.
struct Vector {
  Kind kind = Kind::boolean;
  bool is_constant = false;             ///< The vector has one value, which stands for all rows.
  void const* values = nullptr;         ///< The values lie side by side, as with_kind() has them.
  std::uint8_t const* valid = nullptr;  ///< A byte a value is 1 where there is one, else 0; nullptr: none is null.
  bool is_narrow = false;               ///< The values of Kind::int128 lie there as std::int64_t; no constant does.

  template <class T>
  T const* as() const noexcept {
    return static_cast<T const*>(values);
  }
  std::size_t stride() const noexcept { return is_constant ? 0 : 1; }
};

}  // namespace garuda::expr
