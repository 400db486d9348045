#include "bench/workloads/words.hpp"

#include <fmt/format.h>

#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

namespace garuda::bench {
namespace {

constexpr double kMaxRows = 0x1p40;

/// The whole text as a number. Below 2^53 every integer is a double, so a decimal notation of one is exact.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Parses a number of rows, which may be more than kMaxRows or no integer.
std::optional<double> parse_any(std::string_view text) {
  if (auto const caret = text.find('^'); caret != std::string_view::npos) {
    auto const base = parse_number<std::uint64_t>(text.substr(0, caret));
    auto const exponent = parse_number<std::uint64_t>(text.substr(caret + 1));
    if (!base || !exponent) return std::nullopt;
    return std::pow(static_cast<double>(*base), static_cast<double>(*exponent));
  }
  constexpr std::string_view kUnits = "KMG";
  auto const unit = text.empty() ? std::string_view::npos : kUnits.find(static_cast<char>(std::toupper(text.back())));
  if (unit == std::string_view::npos) return parse_number<double>(text);
  auto const units = parse_number<std::uint64_t>(text.substr(0, text.size() - 1));
  if (!units) return std::nullopt;
  return std::ldexp(static_cast<double>(*units), 10 * (static_cast<int>(unit) + 1));
}

}  // namespace

Result<std::uint64_t> parse_row_count(std::string_view text) {
  auto const rows = parse_any(text);
  if (!rows || !(*rows >= 0) || (*rows <= kMaxRows && *rows != std::floor(*rows)))
    return fail(ErrorCode::usage,
                fmt::format("not a number of rows (allowed: 1000000, 6e6, 2^20, 64K, 16M, 1G): '{}'", text));
  if (*rows > kMaxRows) return fail(ErrorCode::usage, fmt::format("more than 2^40 rows: '{}'", text));
  return static_cast<std::uint64_t>(*rows);
}

std::string to_row_count(std::uint64_t rows) {
  constexpr std::uint64_t kMega = 1'000'000;
  if (rows >= 1024 && std::has_single_bit(rows)) return fmt::format("2^{}", std::countr_zero(rows));
  if (rows >= kMega && rows % kMega == 0) return fmt::format("{}e6", rows / kMega);
  if (rows >= (1U << 20) && rows % (1U << 20) == 0) return fmt::format("{}M", rows >> 20);
  return fmt::format("{}", rows);
}

}  // namespace garuda::bench
