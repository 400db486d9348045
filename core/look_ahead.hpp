// Loops over columns that ask for what they will read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace garuda {

/// How far ahead memory is asked for that a loop reads in order: a processor's own prefetching ends with every page of
/// 4 KiB and starts late where a loop does more than read.
inline constexpr std::size_t kBytesAhead = 8'192;

/// Asks for the line that lies kBytesAhead behind `at`.
inline void look_ahead(void const* at) noexcept {
  // As a number: it may lie behind the end of what `at` belongs to, where nothing is read.
  __builtin_prefetch(reinterpret_cast<void const*>(reinterpret_cast<std::uintptr_t>(at) + kBytesAhead));
}

/// Calls body(i) for the elements [0, count) of type T from `from` on: for bodies that take their time.
template <class T, class Body>
void for_each_ahead(void const* from, std::size_t count, Body const& body) {
  constexpr std::size_t kStep = std::max<std::size_t>(64 / sizeof(T), 1);
  auto const* const bytes = static_cast<std::byte const*>(from);
  std::size_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    look_ahead(bytes + i * sizeof(T));
    for (std::size_t j = 0; j < kStep; ++j) body(i + j);
  }
  for (; i < count; ++i) body(i);
}

/// Calls body(begin, end) for consecutive ranges of [0, count), elements of `bytes_each` bytes from `from` on, each
/// after having asked for the lines kBytesAhead behind its own: for loops that compilers vectorise.
template <class Body>
void for_ranges_ahead(void const* from, std::size_t bytes_each, std::size_t count, Body const& body) {
  constexpr std::size_t kLine = 64;
  constexpr std::size_t kRange = 1'024;
  auto const step = std::max<std::size_t>(kRange / bytes_each, 1);
  for (std::size_t begin = 0; begin < count; begin += step) {
    auto const end = std::min(begin + step, count);
    for (auto byte = begin * bytes_each; byte < end * bytes_each; byte += kLine)
      look_ahead(static_cast<std::byte const*>(from) + byte);
    body(begin, end);
  }
}

}  // namespace garuda
