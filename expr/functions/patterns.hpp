// Patterns of texts, compiled once: those of `like`, and RE2's.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "expr/functions/text_arena.hpp"
#include "garuda/error.hpp"

namespace garuda::expr {

/// The bytes of the code point that begins with `lead`. Requires: UTF-8.
inline std::size_t code_point_bytes(char lead) noexcept {
  auto const byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// The place of the first `part` in `text` at `from` or behind it; npos: there is none. Requires: from <= text.size().
std::size_t find_bytes(std::string_view text, std::string_view part, std::size_t from) noexcept;

/// A pattern of `like`: literal parts, single code points (`_`) and any text (`%`). Patterns without `_` compare bytes.
class LikePattern {
 public:
  /// `escape`: one code point, behind which `%`, `_` and itself stand for themselves; empty: there is none.
  /// Errors: invalid_input, where the escape is longer, or ends the pattern.
  static Result<std::shared_ptr<LikePattern const>> compile(std::string_view pattern, std::string_view escape);

  bool matches(std::string_view text) const noexcept;

  /// A text between two `%`.
  struct Part {
    std::string bytes;        ///< Literal bytes; a `_` is a zero byte here.
    std::vector<bool> any{};  ///< By byte: it is a `_`; empty: none is.
  };
  std::vector<Part> const& parts() const noexcept { return parts_; }

 private:
  static std::size_t match_at(Part const& part, std::string_view text, std::size_t from) noexcept;
  static std::size_t find(Part const& part, std::string_view text, std::size_t from) noexcept;
  static std::size_t match_end(Part const& part, std::string_view text, std::size_t from) noexcept;

  std::vector<Part> parts_;
};

/// A pattern of RE2 with, perhaps, what its matches are replaced by.
class Regexp {
 public:
  /// Errors: invalid_input, with RE2's reason, or where the replacement refers to a group that is not there.
  static Result<std::shared_ptr<Regexp const>> compile(std::string const& pattern, std::string const& replacement);
  ~Regexp();
  Regexp(Regexp const&) = delete;
  Regexp& operator=(Regexp const&) = delete;

  /// Whether some part of the text matches.
  bool matches(std::string_view text) const;
  /// The text with its first match, or all of them, replaced; the text itself where nothing matches.
  std::string_view replaced(std::string_view text, bool all, TextArena& arena) const;

 private:
  struct Compiled;

  explicit Regexp(std::unique_ptr<Compiled const> compiled) noexcept;

  std::unique_ptr<Compiled const> compiled_;
};

}  // namespace garuda::expr
