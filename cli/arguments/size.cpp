#include "cli/arguments/size.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

namespace garuda::cli {
namespace {

std::optional<double> unit_bytes(std::string_view name) {
  constexpr double kKilo = 1000;
  constexpr double kKibi = 1024;
  static constexpr std::string_view kPrefixes = "kmgt";
  std::string unit;
  for (char const c : name) unit += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (unit.empty() || unit == "b") return 1;
  auto const power = kPrefixes.find(unit[0]);
  if (power == std::string_view::npos) return std::nullopt;
  auto const rest = std::string_view(unit).substr(1);
  if (rest == "b") return std::pow(kKilo, power + 1);
  if (rest.empty() || rest == "ib") return std::pow(kKibi, power + 1);
  return std::nullopt;
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  constexpr double kMost = 9.2e18;  // below 2^63, so that sums of two fit 64 bits
  double number = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  auto const unit = unit_bytes(text.substr(static_cast<std::size_t>(end - text.data())));
  double const bytes = std::floor(number * unit.value_or(0));
  if (error != std::errc() || !unit || !std::isfinite(bytes) || bytes < 1 || bytes > kMost) {
    return fail(ErrorCode::usage, fmt::format("not a size in bytes such as 256MiB, 1GB or 2e9: '{}'", text));
  }
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace garuda::cli
