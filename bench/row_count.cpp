#include "bench/row_count.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <optional>

namespace garuda::bench {
namespace {

constexpr std::uint64_t kMaxRows = std::uint64_t{1} << 40;

std::optional<std::uint64_t> parse_integer(std::string_view text) {
  std::uint64_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_power(std::string_view base_text, std::string_view exponent_text) {
  auto const base = parse_integer(base_text);
  auto const exponent = parse_integer(exponent_text);
  if (!base || !exponent) return std::nullopt;
  auto const value = std::pow(static_cast<double>(*base), static_cast<double>(*exponent));
  if (value > static_cast<double>(kMaxRows)) return kMaxRows + 1;
  return static_cast<std::uint64_t>(std::llround(value));
}

// Below 2^53 every integer is a double, so a decimal notation of one is exact.
std::optional<std::uint64_t> parse_decimal(std::string_view text) {
  double value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0)) return std::nullopt;
  if (value > static_cast<double>(kMaxRows)) return kMaxRows + 1;
  if (value != std::floor(value)) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

std::uint32_t unit_bits(char unit) {
  switch (unit) {
    case 'K':
    case 'k':
      return 10;
    case 'M':
    case 'm':
      return 20;
    case 'G':
    case 'g':
      return 30;
    default:
      return 0;
  }
}

std::optional<std::uint64_t> parse_any(std::string_view text) {
  if (text.empty()) return std::nullopt;
  if (auto const caret = text.find('^'); caret != std::string_view::npos)
    return parse_power(text.substr(0, caret), text.substr(caret + 1));
  if (auto const bits = unit_bits(text.back()); bits != 0) {
    auto const units = parse_integer(text.substr(0, text.size() - 1));
    if (!units) return std::nullopt;
    return *units > (kMaxRows >> bits) ? kMaxRows + 1 : *units << bits;
  }
  return parse_decimal(text);
}

}  // namespace

Result<std::uint64_t> parse_row_count(std::string_view text) {
  auto const rows = parse_any(text);
  if (!rows)
    return fail(ErrorCode::usage,
                fmt::format("not a number of rows (allowed: 1000000, 6e6, 2^20, 64K, 16M, 1G): '{}'", text));
  if (*rows > kMaxRows) return fail(ErrorCode::usage, fmt::format("more than 2^40 rows: '{}'", text));
  return *rows;
}

std::string to_row_count(std::uint64_t rows) {
  constexpr std::uint64_t kMega = 1'000'000;
  if (rows >= 1024 && std::has_single_bit(rows)) return fmt::format("2^{}", std::countr_zero(rows));
  if (rows >= kMega && rows % kMega == 0) return fmt::format("{}e6", rows / kMega);
  if (rows >= (1U << 20) && rows % (1U << 20) == 0) return fmt::format("{}M", rows >> 20);
  return fmt::format("{}", rows);
}

}  // namespace garuda::bench
