// The C++ types of integers that lie in memory.
#pragma once

#include <cstdint>

namespace garuda {

/// Calls visit with a null pointer to the type of integers of `width` bytes: 1, 2, 4 or 8. Returns what it returns.
template <class Visitor>
auto visit_integers(std::int32_t width, bool is_signed, Visitor const& visit) {
  switch (width) {
    case 1:
      return is_signed ? visit(static_cast<std::int8_t*>(nullptr)) : visit(static_cast<std::uint8_t*>(nullptr));
    case 2:
      return is_signed ? visit(static_cast<std::int16_t*>(nullptr)) : visit(static_cast<std::uint16_t*>(nullptr));
    case 4:
      return is_signed ? visit(static_cast<std::int32_t*>(nullptr)) : visit(static_cast<std::uint32_t*>(nullptr));
    default:
      return is_signed ? visit(static_cast<std::int64_t*>(nullptr)) : visit(static_cast<std::uint64_t*>(nullptr));
  }
}

}  // namespace garuda
