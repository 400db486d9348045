// A page of HTML that needs nothing else: headings, tables, and charts that its script draws.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace garuda::report {

/// page/page.html: styles, the script that draws, and {{title}}, {{body}}, {{charts}}.
std::string_view page_template() noexcept;

/// Text as HTML shows it.
std::string escaped(std::string_view text);
/// Escapes text and raises its powers of two: 2^20.
std::string with_powers(std::string_view text);

/// One field of a table, as plain text.
struct Field {
  std::string text;
  std::string below{};  ///< a second, smaller line
  std::string style{};  ///< class: "number", "best", "bad", "good"; may be empty
  double share = -1;    ///< of a bar behind the text, 0 to 1; < 0: none
};

/// The first column names the row, all others are as `style` says.
struct PageTable {
  std::vector<std::string> header;
  std::vector<std::vector<Field>> rows;
};

/// Built from top to bottom. All text is escaped here.
class Page {
 public:
  void title(std::string_view text) { body_ += "<h1>" + escaped(text) + "</h1>\n"; }
  void heading(std::string_view text) { body_ += "<h2>" + with_powers(text) + "</h2>\n"; }
  void paragraph(std::string_view text, std::string_view style = {});
  /// Numbers that matter most: (number, what it is).
  void tiles(std::vector<std::pair<std::string, std::string>> const& tiles);
  void table(PageTable const& table);
  /// A table that opens when it is asked for, and on paper.
  void folded(std::string_view title, PageTable const& table);
  /// Side by side where there is room: captions, and charts as the script in page.html takes them. Drawn where there is
  /// a script; the tables hold the same numbers.
  void charts(std::vector<std::pair<std::string, nlohmann::ordered_json>> charts);

  /// The whole file.
  std::string finish(std::string_view title) const;

 private:
  std::string body_;
  nlohmann::ordered_json charts_ = nlohmann::ordered_json::array();
};

}  // namespace garuda::report
