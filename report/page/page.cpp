#include "report/page/page.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace garuda::report {
namespace {

std::string cell(Field const& field, bool is_name) {
  std::string attributes;
  if (!field.style.empty()) attributes += fmt::format(" class=\"{}\"", field.style);
  if (field.share >= 0) attributes += fmt::format(" style=\"--share:{:.1f}%\"", 100 * std::min(field.share, 1.0));
  auto text = with_powers(field.text);
  if (!field.below.empty()) text += fmt::format("<small>{}</small>", with_powers(field.below));
  return is_name ? fmt::format("<th scope=\"row\"{}>{}</th>", attributes, text)
                 : fmt::format("<td{}>{}</td>", attributes, text);
}

/// `text` in place of the one {{name}} in `page`.
void fill(std::string& page, std::string_view name, std::string_view text) {
  auto const mark = fmt::format("{{{{{}}}}}", name);
  page.replace(page.find(mark), mark.size(), text);
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string html;
  for (char const c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string with_powers(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  auto html = escaped(text);
  for (auto at = html.find("2^"); at != std::string::npos; at = html.find("2^", at)) {
    auto const end = std::min(html.find_first_not_of(kDigits, at + 2), html.size());
    auto const power = html.substr(at + 2, end - at - 2);
    html.replace(at + 1, end - at - 1, fmt::format("<sup>{}</sup>", power));
  }
  return html;
}

void Page::paragraph(std::string_view text, std::string_view style) {
  body_ += style.empty() ? fmt::format("<p>{}</p>\n", with_powers(text))
                         : fmt::format("<p class=\"{}\">{}</p>\n", style, with_powers(text));
}

void Page::tiles(std::vector<std::pair<std::string, std::string>> const& tiles) {
  body_ += "<div class=\"tiles\">\n";
  for (auto const& [number, what] : tiles)
    body_ += fmt::format("<div><b>{}</b><span>{}</span></div>\n", with_powers(number), with_powers(what));
  body_ += "</div>\n";
}

void Page::table(PageTable const& table) {
  body_ += "<div class=\"scroll\"><table><thead><tr>";
  for (auto const& title : table.header) body_ += fmt::format("<th scope=\"col\">{}</th>", with_powers(title));
  body_ += "</tr></thead><tbody>\n";
  for (auto const& row : table.rows) {
    body_ += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) body_ += cell(row[i], i == 0);
    body_ += "</tr>\n";
  }
  body_ += "</tbody></table></div>\n";
}

void Page::folded(std::string_view title, PageTable const& rows) {
  body_ += fmt::format("<details><summary>{}</summary>\n", with_powers(title));
  table(rows);
  body_ += "</details>\n";
}

void Page::charts(std::vector<std::pair<std::string, nlohmann::ordered_json>> charts) {
  body_ += "<div class=\"charts\">\n";
  for (auto& [caption, chart] : charts) {
    body_ += fmt::format("<figure data-chart=\"{}\"><figcaption>{}</figcaption></figure>\n", charts_.size(),
                         with_powers(caption));
    charts_.push_back(std::move(chart));
  }
  body_ += "</div>\n";
}

std::string Page::finish(std::string_view title) const {
  auto charts = charts_.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  // Within a script nothing may look like its end.
  for (auto at = charts.find('<'); at != std::string::npos; at = charts.find('<', at)) charts.replace(at, 1, "\\u003c");
  std::string page(page_template());
  fill(page, "charts", charts);  // from the end up: what is filled in is never searched
  fill(page, "body", body_);
  fill(page, "title", escaped(title));
  return page;
}

}  // namespace garuda::report
