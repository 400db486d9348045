#include "core/escaped_text.hpp"

#include <fmt/format.h>

namespace garuda {

std::size_t find_unescaped(std::string_view text, char wanted) noexcept {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == wanted) return i;
    if (text[i] == '\\') ++i;
  }
  return std::string_view::npos;
}

std::vector<std::string_view> split_unescaped(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    auto const end = find_unescaped(text, separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Result<std::string> unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && ++i == text.size())
      return fail(ErrorCode::usage, fmt::format("a backslash must stand before a character of a name: '{}'", text));
    plain += text[i];
  }
  return plain;
}

}  // namespace garuda
