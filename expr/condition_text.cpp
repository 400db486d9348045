// Conditions and columns as they are typed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/escaped_text.hpp"
#include "garuda/condition.hpp"

namespace garuda {
namespace {

/// Spellings, in the order of Comparator.
constexpr std::array<std::string_view, 6> kComparators{"=", "<>", "<", "<=", ">", ">="};
/// `(` and `not` within each other; each takes some of the stack.
constexpr std::size_t kMostLevels = 200;

constexpr std::string_view kOperandForms = "left.NAME, right.NAME, a number, 'text', true, false or null";

bool is_name_character(char c) {
  auto const byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || c == '_' || c == '.' || c == '$' || byte >= 0x80;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  return lower;
}

struct Token {
  enum class Kind : std::uint8_t { end, open, close, comparator, operand, all, any, negation, other };

  Kind kind = Kind::end;
  std::size_t begin = 0;
  std::string_view text{};
  Comparator comparator = Comparator::equal;
  Operand operand{};
};

tl::unexpected<Error> wrong(std::size_t position, std::string_view wanted, std::string_view found) {
  return fail(ErrorCode::usage, fmt::format("the condition wants {} at position {}: {}", wanted, position + 1,
                                            found.empty() ? "its end" : found));
}

/// Cuts a condition into tokens.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<Token> next() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    Token token;
    token.begin = at_;
    GARUDA_TRY(read(token));
    token.text = text_.substr(token.begin, at_ - token.begin);
    return token;
  }

 private:
  using Kind = Token::Kind;

  Result<void> read(Token& token) {
    if (at_ == text_.size()) return {};
    auto const c = text_[at_];
    if (c == '(' || c == ')') {
      token.kind = c == '(' ? Kind::open : Kind::close;
      ++at_;
      return {};
    }
    if (c == '\'') return read_text(token);
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '+' || c == '-') return read_number(token);
    if (is_name_character(c)) return read_word(token);
    return read_comparator(token);
  }

  Result<void> read_comparator(Token& token) {
    auto const length = std::min(text_.find_first_not_of("=<>!", at_), text_.size()) - at_;
    auto const text = text_.substr(at_, std::max<std::size_t>(length, 1));
    auto const found = std::ranges::find(kComparators, text);
    at_ += text.size();
    token.kind = Kind::other;
    if (found == kComparators.end()) return {};
    token.kind = Kind::comparator;
    token.comparator = static_cast<Comparator>(found - kComparators.begin());
    return {};
  }

  /// The text between quotes, which are doubled in it.
  Result<std::string> read_quoted(char quote, std::string_view what) {
    auto const begin = at_++;
    std::string plain;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == quote && (++at_ == text_.size() || text_[at_] != quote)) return plain;
      plain += text_[at_];
    }
    return wrong(begin, what, text_.substr(begin));
  }

  Result<void> read_text(Token& token) {
    GARUDA_TRY_ASSIGN(auto text, read_quoted('\'', "a quote behind the text"));
    token.kind = Kind::operand;
    token.operand = Constant{Constant::Form::text, std::move(text)};
    return {};
  }

  std::size_t skip_digits() {
    auto const begin = at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return at_ - begin;
  }
  bool skip_any(std::string_view characters) {
    bool const is_there = at_ < text_.size() && characters.find(text_[at_]) != std::string_view::npos;
    if (is_there) ++at_;
    return is_there;
  }

  Result<void> read_number(Token& token) {
    skip_any("+-");
    auto digits = skip_digits();
    if (skip_any(".")) digits += skip_digits();
    bool is_number = digits > 0;
    if (skip_any("eE")) {
      skip_any("+-");
      is_number = skip_digits() > 0 && is_number;
    }
    bool const goes_on = at_ < text_.size() && is_name_character(text_[at_]);
    if (!is_number || goes_on) {
      while (at_ < text_.size() && is_name_character(text_[at_])) ++at_;
      return wrong(token.begin, "a number, as in -12.5",
                   text_.substr(token.begin, std::max(at_, token.begin + 1) - token.begin));
    }
    token.kind = Kind::operand;
    token.operand = Constant{Constant::Form::number, std::string(text_.substr(token.begin, at_ - token.begin))};
    return {};
  }

  Result<void> read_word(Token& token) {
    while (at_ < text_.size() && is_name_character(text_[at_]) && text_[at_] != '.') ++at_;
    auto const word = lower_case(text_.substr(token.begin, at_ - token.begin));
    if ((word == "left" || word == "right") && skip_any("."))
      return read_column(token, word == "left" ? Side::left : Side::right);
    token.kind = word == "and" ? Kind::all : word == "or" ? Kind::any : word == "not" ? Kind::negation : Kind::operand;
    if (token.kind != Kind::operand) return {};
    if (word == "null")
      token.operand = Constant{};
    else if (word == "true" || word == "false")
      token.operand = Constant{Constant::Form::boolean, word};
    else
      token.kind = Kind::other;
    return {};
  }

  Result<void> read_column(Token& token, Side side) {
    token.kind = Kind::operand;
    std::string name;
    if (at_ < text_.size() && text_[at_] == '"') {
      GARUDA_TRY_ASSIGN(name, read_quoted('"', "a double quote behind the name"));
    } else {
      for (; at_ < text_.size() && (is_name_character(text_[at_]) || text_[at_] == '\\'); ++at_) {
        if (text_[at_] == '\\' && ++at_ == text_.size())
          return wrong(at_ - 1, "a character of a name behind a backslash", text_.substr(token.begin));
        name += text_[at_];
      }
    }
    if (name.empty())
      return wrong(token.begin, "left.NAME or right.NAME", text_.substr(token.begin, at_ - token.begin));
    token.operand = ColumnRef{side, std::move(name)};
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// Recursive descent; one token ahead.
class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) {}

  Result<Condition> run() {
    GARUDA_TRY(advance());
    while (true) {
      GARUDA_TRY(open_levels());
      GARUDA_TRY_ASSIGN(auto part, parse_comparison());
      GARUDA_TRY_ASSIGN(auto whole, add(std::move(part)));
      if (whole) return *std::move(whole);
    }
  }

 private:
  using Kind = Token::Kind;

  Result<void> advance() {
    GARUDA_TRY_ASSIGN(token_, lexer_.next());
    return {};
  }

  /// What has been read within one pair of parentheses, or around all: levels stand in a list, not on the stack, which
  /// a thread may have little of.
  struct Level {
    std::optional<Condition> any;  ///< before the last `or`
    std::optional<Condition> all;  ///< since then
    std::size_t negations = 0;     ///< of the part that comes next
  };

  /// Takes every `not` and ( before a comparison.
  Result<void> open_levels() {
    for (; token_.kind == Kind::negation || token_.kind == Kind::open; ++depth_) {
      if (depth_ > kMostLevels) break;
      if (token_.kind == Kind::open)
        levels_.emplace_back();
      else
        ++levels_.back().negations;
      GARUDA_TRY(advance());
    }
    if (depth_ <= kMostLevels) return {};
    return fail(ErrorCode::usage,
                fmt::format("a condition has at most {} levels of parentheses and not: more at position {}",
                            kMostLevels, token_.begin + 1));
  }

  /// Adds a part to the innermost level, and a level that ends behind it to the one around it. Returns the whole
  /// condition at its end, nullopt where another part follows.
  Result<std::optional<Condition>> add(Condition part) {
    while (true) {
      auto& level = levels_.back();
      for (; level.negations > 0; --level.negations, --depth_) part = !std::move(part);
      level.all = level.all ? *std::move(level.all) && std::move(part) : std::move(part);
      if (token_.kind == Kind::all) break;
      auto& all = *level.all;
      level.any = level.any ? *std::move(level.any) || std::move(all) : std::move(all);
      level.all.reset();
      if (token_.kind == Kind::any) break;
      bool const is_inside = levels_.size() > 1;
      if (!is_inside && token_.kind == Kind::end) return std::optional(*std::move(level.any));
      if (!is_inside) return wrong(token_.begin, "and, or or its end", token_.text);
      if (token_.kind != Kind::close) return wrong(token_.begin, "and, or or )", token_.text);
      part = *std::move(level.any);
      levels_.pop_back();
      --depth_;
      GARUDA_TRY(advance());
    }
    GARUDA_TRY(advance());
    return std::optional<Condition>();
  }

  Result<Condition> parse_comparison() {
    Comparison comparison;
    GARUDA_TRY_ASSIGN(comparison.first, parse_operand(fmt::format("{}, ( or not", kOperandForms)));
    if (token_.kind != Kind::comparator) return wrong(token_.begin, "one of =, <>, <, <=, >, >=", token_.text);
    comparison.comparator = token_.comparator;
    GARUDA_TRY(advance());
    GARUDA_TRY_ASSIGN(comparison.second, parse_operand(kOperandForms));
    return Condition{Condition::Kind::comparison, std::move(comparison), {}};
  }

  Result<Operand> parse_operand(std::string_view wanted) {
    if (token_.kind != Kind::operand) return wrong(token_.begin, wanted, token_.text);
    auto operand = std::move(token_.operand);
    GARUDA_TRY(advance());
    return operand;
  }

  Lexer lexer_;
  Token token_;
  std::vector<Level> levels_{1};
  std::size_t depth_ = 0;  // of parentheses and `not`
};

std::string doubled(std::string_view text, char quote) {
  std::string quoted(1, quote);
  for (auto const c : text) quoted.append(c == quote ? 2 : 1, c);
  return quoted + quote;
}

std::string operand_text(Operand const& operand) {
  if (auto const* const column = std::get_if<ColumnRef>(&operand)) {
    bool const is_bare = !column->name.empty() && std::ranges::all_of(column->name, is_name_character);
    return fmt::format("{}.{}", to_string(column->side), is_bare ? column->name : doubled(column->name, '"'));
  }
  auto const& constant = *std::get_if<Constant>(&operand);
  if (constant.form == Constant::Form::null) return "null";
  return constant.form == Constant::Form::text ? doubled(constant.text, '\'') : constant.text;
}

/// `kind`: of the condition that this one is a part of.
std::string part_text(Condition const& condition, Condition::Kind kind) {
  using Kind = Condition::Kind;
  auto const text = to_string(condition);
  bool const binds_less = condition.kind == Kind::any || (condition.kind == Kind::all && kind == Kind::negation);
  return kind != Kind::any && binds_less ? "(" + text + ")" : text;
}

Condition joined(Condition::Kind kind, Condition first, Condition second) {
  if (first.kind != kind) first = {kind, {}, {std::move(first)}};
  if (second.kind == kind)
    std::ranges::move(second.parts, std::back_inserter(first.parts));
  else
    first.parts.push_back(std::move(second));
  return first;
}

/// Calls visit(comparison) for those of a condition. `Of`: Condition or Condition const.
template <class Of, class Visit>
void visit_comparisons(Of& condition, Visit const& visit) {
  if (condition.kind == Condition::Kind::comparison) visit(condition.comparison);
  for (auto& part : condition.parts) visit_comparisons(part, visit);
}

}  // namespace

std::string_view to_string(Side side) noexcept { return side == Side::left ? "left" : "right"; }

Result<ColumnRef> parse_column_ref(std::string_view text) {
  auto const dot = text.find('.');
  auto const side = text.substr(0, dot);
  if (dot == std::string_view::npos || dot + 1 == text.size() || (side != "left" && side != "right"))
    return fail(ErrorCode::usage, fmt::format("a column is left.NAME or right.NAME: '{}'", text));
  GARUDA_TRY_ASSIGN(auto name, unescape(text.substr(dot + 1)));
  return ColumnRef{side == "left" ? Side::left : Side::right, std::move(name)};
}

std::string_view to_string(Comparator comparator) noexcept {
  return kComparators[static_cast<std::size_t>(comparator)];
}

Result<Condition> parse_condition(std::string_view text) { return Parser(text).run(); }

std::string to_string(Condition const& condition) {
  using Kind = Condition::Kind;
  if (condition.kind == Kind::comparison)
    return fmt::format("{} {} {}", operand_text(condition.comparison.first), to_string(condition.comparison.comparator),
                       operand_text(condition.comparison.second));
  if (condition.kind == Kind::negation) return "not " + part_text(condition.parts.at(0), condition.kind);
  std::string text;
  for (auto const& part : condition.parts) {
    if (!text.empty()) text += condition.kind == Kind::all ? " and " : " or ";
    text += part_text(part, condition.kind);
  }
  return text;
}

Operand constant(double value) {
  if (!std::isfinite(value)) return constant(fmt::format("{}", value));
  return Constant{Constant::Form::number, fmt::format("{}", value)};
}

Condition operator&&(Condition first, Condition second) {
  return joined(Condition::Kind::all, std::move(first), std::move(second));
}

Condition operator||(Condition first, Condition second) {
  return joined(Condition::Kind::any, std::move(first), std::move(second));
}

Condition operator!(Condition condition) {
  Condition negation{Condition::Kind::negation, {}, {}};
  negation.parts.push_back(std::move(condition));
  return negation;
}

Condition with_sides_swapped(Condition condition) {
  visit_comparisons(condition, [](Comparison& comparison) {
    for (auto* const operand : {&comparison.first, &comparison.second})
      if (auto* const column = std::get_if<ColumnRef>(operand))
        column->side = column->side == Side::left ? Side::right : Side::left;
  });
  return condition;
}

std::vector<Comparison> comparisons_of(Condition const& condition) {
  std::vector<Comparison> comparisons;
  visit_comparisons(condition, [&](Comparison const& comparison) { comparisons.push_back(comparison); });
  return comparisons;
}

std::vector<std::string> columns_of(Condition const& condition, Side side) {
  std::vector<std::string> names;
  visit_comparisons(condition, [&](Comparison const& comparison) {
    for (auto const* const operand : {&comparison.first, &comparison.second}) {
      auto const* const column = std::get_if<ColumnRef>(operand);
      if (column != nullptr && column->side == side && std::ranges::find(names, column->name) == names.end())
        names.push_back(column->name);
    }
  });
  return names;
}

}  // namespace garuda
