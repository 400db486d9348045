// Loads from and stores to memory that need not be aligned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace garuda {

/// Value `i` of an array of T. The copy is one load; it allows columns that are not aligned to their type.
template <class T>
T load(std::byte const* values, std::int64_t i) noexcept {
  T value;
  std::memcpy(&value, values + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

/// Sets value `i` of an array of T.
template <class T>
void store(std::byte* values, std::size_t i, T value) noexcept {
  std::memcpy(values + i * sizeof(T), &value, sizeof(T));
}

}  // namespace garuda
