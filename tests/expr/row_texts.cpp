// Texts of single rows, by code points.
#include <string>
#include <string_view>

#include "tests/expr/row_values.hpp"

namespace garuda::expr {
namespace {

std::u32string code_points_of(std::string const& text) {
  std::u32string points;
  for (auto const c : text) {
    auto const byte = static_cast<unsigned char>(c);
    if (byte < 0x80)
      points += byte;
    else if (byte < 0xC0)
      points.back() = points.back() << 6 | (byte & 0x3F);
    else
      points += byte < 0xE0 ? byte & 0x1F : byte < 0xF0 ? byte & 0x0F : byte & 0x07;
  }
  return points;
}

std::string utf8_of(std::u32string const& points) {
  std::string text;
  auto const put = [&](char32_t bits) { text += static_cast<char>(bits); };
  for (auto const point : points) {
    if (point < 0x80) {
      put(point);
      continue;
    }
    auto const more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    put((more == 1 ? 0xC0U : more == 2 ? 0xE0U : 0xF0U) | point >> (6 * more));
    for (auto i = more; i-- > 0;) put(0x80U | (point >> (6 * i) & 0x3F));
  }
  return text;
}

/// Pairs of letters that tests use: ASCII's, and some of Latin-1.
char32_t other_case(char32_t point, bool is_upper) {
  bool const is_small = (point >= 'a' && point <= 'z') || (point >= 0xE0 && point <= 0xFE && point != 0xF7);
  bool const is_large = (point >= 'A' && point <= 'Z') || (point >= 0xC0 && point <= 0xDE && point != 0xD7);
  if (is_upper && is_small) return point - 0x20;
  return !is_upper && is_large ? point + 0x20 : point;
}

std::u32string substring_points(std::u32string const& points, Int128 start, Int128 length) {
  std::u32string result;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (auto const place = Int128(i) + 1; place >= start && place < start + length) result += points[i];
  return result;
}

std::u32string trimmed_points(std::u32string points, std::u32string const& characters, Function function) {
  auto const is_one = [&](char32_t point) { return characters.find(point) != std::u32string::npos; };
  while (function != Function::trim_right && !points.empty() && is_one(points.front())) points.erase(0, 1);
  while (function != Function::trim_left && !points.empty() && is_one(points.back())) points.pop_back();
  return points;
}

bool is_like(std::u32string_view text, std::u32string_view pattern, char32_t escape) {
  if (pattern.empty()) return text.empty();
  auto const first = pattern.front();
  if (escape != 0 && first == escape && pattern.size() > 1)
    return !text.empty() && text.front() == pattern[1] && is_like(text.substr(1), pattern.substr(2), escape);
  if (first == '%')
    return is_like(text, pattern.substr(1), escape) || (!text.empty() && is_like(text.substr(1), pattern, escape));
  return !text.empty() && (first == '_' || first == text.front()) && is_like(text.substr(1), pattern.substr(1), escape);
}

Cell truth_of(bool holds) { return {false, holds ? 1 : 0, 0}; }
Cell text_cell(std::string text) { return {false, 0, 0, std::move(text)}; }

Cell substring_cell(Expression const& expression, Cell const& a, Cell const& start, Cell const& length) {
  if (expression.arguments.size() == 3 && length.integer < 0) return lost(expression.on_failure);
  auto const count = expression.arguments.size() == 3 ? length.integer : Int128{1} << 100;
  return text_cell(utf8_of(substring_points(code_points_of(a.text), start.integer, count)));
}

}  // namespace

std::string without_outer_spaces(std::string const& text) {
  auto const* const spaces = " \t\n\v\f\r";
  auto const begin = text.find_first_not_of(spaces);
  return begin == std::string::npos ? std::string() : text.substr(begin, text.find_last_not_of(spaces) - begin + 1);
}

Cell text_value(Expression const& expression, Cell const& a, Cell const& b, Cell const& c) {
  auto const& arguments = expression.arguments;
  auto const points = code_points_of(a.text);
  switch (expression.function) {
    case Function::like: {
      auto const escape = arguments.size() > 2 ? code_points_of(std::get<std::string>(arguments[2].value))[0] : U'\0';
      return truth_of(is_like(points, code_points_of(std::get<std::string>(arguments[1].value)), escape));
    }
    case Function::starts_with:
      return truth_of(a.text.rfind(b.text, 0) == 0);
    case Function::ends_with:
      return truth_of(a.text.size() >= b.text.size() && a.text.substr(a.text.size() - b.text.size()) == b.text);
    case Function::contains:
      return truth_of(a.text.find(b.text) != std::string::npos);
    case Function::substring:
      return substring_cell(expression, a, b, c);
    case Function::length:
      return {false, static_cast<Int128>(points.size()), 0};
    case Function::octet_length:
      return {false, static_cast<Int128>(a.text.size()), 0};
    case Function::upper:
    case Function::lower: {
      std::u32string changed;
      for (auto const point : points) changed += other_case(point, expression.function == Function::upper);
      return text_cell(utf8_of(changed));
    }
    default:
      return text_cell(
          utf8_of(trimmed_points(points, arguments.size() > 1 ? code_points_of(b.text) : U" ", expression.function)));
  }
}

}  // namespace garuda::expr
