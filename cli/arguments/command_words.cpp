#include "cli/arguments/command_words.hpp"

#include <utility>

namespace garuda::cli {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";

/// The word that a line begins with; takes it off the line.
class WordReader {
 public:
  explicit WordReader(std::string_view line) : line_(line) {}

  Result<std::string> read() {
    while (!line_.empty() && kBlanks.find(line_.front()) == std::string_view::npos) {
      auto const letter = take();
      if (letter == '\'') {
        GARUDA_TRY(read_quoted(letter, ""));
      } else if (letter == '"') {
        GARUDA_TRY(read_quoted(letter, "\"\\"));
      } else if (letter != '\\') {
        word_ += letter;
      } else if (line_.empty()) {
        return fail(ErrorCode::usage, "a backslash ends the line");
      } else {
        word_ += take();
      }
    }
    return std::move(word_);
  }

  std::string_view rest() const noexcept { return line_; }

 private:
  char take() {
    auto const letter = line_.front();
    line_.remove_prefix(1);
    return letter;
  }

  /// `escaped`: what a backslash may stand before.
  Result<void> read_quoted(char quote, std::string_view escaped) {
    while (!line_.empty()) {
      auto letter = take();
      if (letter == quote) return {};
      if (letter == '\\' && !line_.empty() && escaped.find(line_.front()) != std::string_view::npos) letter = take();
      word_ += letter;
    }
    return fail(ErrorCode::usage, std::string("a quote stays open: ") + quote);
  }

  std::string_view line_;
  std::string word_;
};

}  // namespace

Result<std::vector<std::string>> command_words(std::string_view line) {
  std::vector<std::string> words;
  while (true) {
    auto const first = line.find_first_not_of(kBlanks);
    if (first == std::string_view::npos || line[first] == '#') return words;
    WordReader reader(line.substr(first));
    GARUDA_TRY_ASSIGN(auto word, reader.read());
    words.push_back(std::move(word));
    line = reader.rest();
  }
}

}  // namespace garuda::cli
