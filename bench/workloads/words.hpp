// Words that options take, each of which stands for a value.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "garuda/error.hpp"

namespace garuda::bench {

template <class T>
struct Word {
  std::string_view text;
  T value;
};

/// The value of the word `text`. Errors: usage, with what is allowed.
template <class T, std::size_t N>
Result<T> parse_word(std::string_view what, std::array<Word<T>, N> const& words, std::string_view text) {
  std::string allowed;
  for (auto const& word : words) {
    if (word.text == text) return word.value;
    allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", word.text);
  }
  return fail(ErrorCode::usage, fmt::format("unknown {} (allowed: {}): '{}'", what, allowed, text));
}

/// The word of a value that has one.
template <class T, std::size_t N>
std::string_view word_of(std::array<Word<T>, N> const& words, T value) noexcept {
  return std::ranges::find(words, value, &Word<T>::value)->text;
}

/// Parses a number of rows: `1000000`, `6e6`, `1.5e6`, `2^27`, or with a binary unit `64K` (2^10), `16M` (2^20),
/// `1G` (2^30). At most 2^40.
/// Errors: usage, with the text and what is allowed.
Result<std::uint64_t> parse_row_count(std::string_view text);

/// The shortest of these notations that is exact: `2^27`, `3M`, `6e6`, `12345`.
std::string to_row_count(std::uint64_t rows);

}  // namespace garuda::bench
