// Lists of names as they are typed: a backslash makes the next character part of a name, whatever it separates else.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "garuda/error.hpp"

namespace garuda {

/// Position of the first `wanted` in `text` that no backslash stands before; npos: there is none.
std::size_t find_unescaped(std::string_view text, char wanted) noexcept;

/// The parts of `text` between separators that no backslash stands before, at least one, their backslashes kept.
std::vector<std::string_view> split_unescaped(std::string_view text, char separator);

/// `text` without the backslashes that stand for the character after them.
/// Errors: usage, when a backslash ends it.
Result<std::string> unescape(std::string_view text);

}  // namespace garuda
