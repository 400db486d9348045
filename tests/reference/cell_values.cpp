#include "tests/reference/cell_values.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace garuda::reference {

std::string hexadecimal(std::uint64_t bits, int digits) {
  char text[17];
  std::snprintf(text, sizeof(text), "%0*llx", digits, static_cast<unsigned long long>(bits));
  return text;
}

bool is_float(TypeId id) { return id >= TypeId::float16 && id <= TypeId::float64; }
bool is_decimal(TypeId id) { return id >= TypeId::decimal32 && id <= TypeId::decimal256; }
bool is_text(DataType const& type) {
  bool const is_view = type.id == TypeId::utf8_view || type.id == TypeId::binary_view;
  return is_variable_width(type) || is_view || type.id == TypeId::fixed_size_binary || type.id == TypeId::boolean ||
         (type.id == TypeId::dictionary && is_text(*type.value));
}

double float_of(TypeId id, std::string const& cell) {
  auto const bits = std::strtoull(cell.c_str(), nullptr, 16);
  if (id == TypeId::float16) {
    auto const exponent = static_cast<int>(bits >> 10 & 31);
    auto const fraction = static_cast<double>(bits & 1023);
    auto const magnitude = exponent == 31  ? (fraction == 0 ? HUGE_VAL : std::nan(""))
                           : exponent == 0 ? std::ldexp(fraction, -24)
                                           : std::ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 != 0 ? -magnitude : magnitude;
  }
  if (id == TypeId::float32) {
    auto const narrow = static_cast<std::uint32_t>(bits);
    float value;
    std::memcpy(&value, &narrow, sizeof(value));
    return value;
  }
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

std::string cell_of(double value) {
  if (std::isnan(value)) return "7ff8000000000000";
  if (value == 0) return "0000000000000000";
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return hexadecimal(bits, 16);
}

std::string canonical(DataType const& type, std::string const& cell) {
  if (type.id == TypeId::dictionary) return canonical(*type.value, cell);
  if (type.id == TypeId::float16) {
    auto const magnitude = std::strtoul(cell.c_str(), nullptr, 16) & 0x7FFF;
    return magnitude == 0 ? "0000" : magnitude > 0x7C00 ? "7e00" : cell;
  }
  if (!is_float(type.id)) return cell;
  auto const value = float_of(type.id, cell);
  if (type.id == TypeId::float64) return cell_of(value);
  return std::isnan(value) ? "7fc00000" : value == 0 ? "00000000" : cell;
}

bool is_less(DataType const& type, std::string const& a, std::string const& b) {
  if (is_text(type)) return a < b;  // false comes before true
  if (is_float(type.id)) {
    auto const x = float_of(type.id, a);
    auto const y = float_of(type.id, b);
    return std::isnan(y) ? !std::isnan(x) : x < y;
  }
  auto const negative = a.front() == '-';
  if (negative != (b.front() == '-')) return negative;
  if (a.size() != b.size()) return (a.size() < b.size()) != negative;
  return negative ? a > b : a < b;
}

double power_of_ten(std::int32_t exponent) { return std::strtod(("1e" + std::to_string(exponent)).c_str(), nullptr); }

}  // namespace garuda::reference
