#include "cli/files/preview.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/row_format.hpp"

namespace garuda::cli {
namespace {

constexpr std::int64_t kMostRows = 10;
constexpr std::size_t kMostCharacters = 32;
constexpr std::string_view kGap = "  ";

bool starts_character(char byte) noexcept { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

/// Number of code points of UTF-8 text.
std::size_t text_width(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

/// A value on one line of at most kMostCharacters: it may be pages long, and could move a terminal's cursor.
std::string cell(std::string_view text) {
  std::string result;
  std::size_t width = 0;
  for (char const c : text) {
    if (starts_character(c) && width++ == kMostCharacters - 1 && text_width(text) > kMostCharacters) {
      return result + "…";
    }
    bool const control = static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    result += control ? ' ' : c;
  }
  return result;
}

bool is_number(DataType const& type) noexcept { return type.id >= TypeId::int8 && type.id <= TypeId::decimal256; }

struct TextColumn {
  std::vector<std::string> cells;
  std::size_t width = 0;
  bool right = false;

  void add(std::string text) {
    width = std::max(width, text_width(text));
    cells.push_back(std::move(text));
  }
  std::string padded(std::size_t row) const {
    std::string const space(width - text_width(cells[row]), ' ');
    return right ? space + cells[row] : cells[row] + space;
  }
};

}  // namespace

Result<void> Preview::add(Batch const& batch) {
  num_rows_ += static_cast<std::uint64_t>(batch.num_rows);
  auto const wanted = std::min(batch.num_rows, kMostRows - static_cast<std::int64_t>(rows_.size()));
  if (wanted <= 0) return {};
  GARUDA_TRY_ASSIGN(auto rows, io::format_rows(schema_, batch, wanted));
  std::move(rows.begin(), rows.end(), std::back_inserter(rows_));
  return {};
}

std::string Preview::to_text(std::size_t width) const {
  std::vector<TextColumn> columns;
  std::size_t used = 0;
  for (std::size_t i = 0; i < schema_.size(); ++i) {
    TextColumn column;
    column.right = is_number(shown_[i].type);
    column.add(cell(schema_[i].name));
    column.add(cell(to_string(shown_[i].type)));
    for (auto const& row : rows_) column.add(cell(row[i]));
    used += column.width + kGap.size();
    if (used > width && !columns.empty()) break;
    columns.push_back(std::move(column));
  }
  std::string text;
  for (std::size_t row = 0; row < rows_.size() + 2; ++row) {
    std::string line;
    for (auto const& column : columns) line += fmt::format("{}{}", line.empty() ? "" : kGap, column.padded(row));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  if (columns.size() < schema_.size()) text += fmt::format("and {} columns more\n", schema_.size() - columns.size());
  if (num_rows_ > rows_.size()) text += "… ";
  return text + fmt::format("{} row{}\n", num_rows_, num_rows_ == 1 ? "" : "s");
}

}  // namespace garuda::cli
