// Ranges of values that are looked at a register at a time.
#pragma once

#include <arrow/type.h>

#include <cstdint>
#include <span>
#include <type_traits>

namespace garuda::io {

/// Whether all values lie in [least, most].
template <class T>
bool lie_between(std::span<T const> values, std::int64_t least, std::int64_t most) {
  using Word = std::make_unsigned_t<T>;
  if (most < least) return values.empty();
  auto const first = static_cast<Word>(least);
  auto const range = static_cast<Word>(static_cast<Word>(most) - first);
  bool is_outside = false;
  for (auto const value : values) is_outside |= static_cast<Word>(static_cast<Word>(value) - first) > range;
  return !is_outside;
}

/// The greatest integer that has the digits of a decimal32 or decimal64.
inline std::int64_t greatest_integer(arrow::DataType const& decimal) {
  std::int64_t most = 1;
  for (int i = 0; i < static_cast<arrow::DecimalType const&>(decimal).precision(); ++i) most *= 10;
  return most - 1;
}

}  // namespace garuda::io
