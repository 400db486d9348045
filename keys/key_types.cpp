// Which column types are compared with which.
#include <fmt/format.h>

#include <algorithm>

#include "core/type_rows.hpp"
#include "keys/key_types.hpp"

namespace garuda::keys {
namespace {

bool is_decimal(TypeId id) { return type_row(id).family == TypeFamily::decimal; }

bool is_key_type(TypeId id) {
  return is_integer(id) || is_decimal(id) || id == TypeId::date32 || id == TypeId::date64 || id == TypeId::timestamp;
}

/// True when every value of integer type `from` is a value of integer type `to`.
bool widens(DataType const& from, DataType const& to) {
  bool const is_signed = type_row(from.id).is_signed;
  if (is_signed == type_row(to.id).is_signed) return byte_width(from) <= byte_width(to);
  return !is_signed && byte_width(from) < byte_width(to);
}

Result<void> check_key_type(Field const& field) {
  if (is_key_type(field.type.id)) return {};
  return fail(ErrorCode::invalid_input, fmt::format("column '{}' cannot be a join key, whose types are integers, date, "
                                                    "timestamp and decimal: {}",
                                                    field.name, to_string(field.type)));
}

}  // namespace

Result<DataType> common_key_type(Field const& left, Field const& right) {
  GARUDA_TRY(check_key_type(left));
  GARUDA_TRY(check_key_type(right));
  auto const& a = left.type;
  auto const& b = right.type;
  if (a == b) return a;
  if (is_integer(a.id) && is_integer(b.id)) {
    if (widens(a, b)) return b;
    if (widens(b, a)) return a;
  }
  if (is_decimal(a.id) && is_decimal(b.id) && a.scale == b.scale) {
    auto common = byte_width(a) >= byte_width(b) ? a : b;
    common.precision = std::max(a.precision, b.precision);
    return common;
  }
  return fail(ErrorCode::invalid_input,
              fmt::format("key columns '{}' and '{}' cannot be compared, their types differ: {} and {}", left.name,
                          right.name, to_string(a), to_string(b)));
}

tl::unexpected<Error> key_beyond_64_bits(Field const& field, std::uint64_t row) {
  return fail(ErrorCode::invalid_input, fmt::format("key column '{}' ({}) has a value beyond 64 bits in row {}",
                                                    field.name, to_string(field.type), row));
}

}  // namespace garuda::keys
