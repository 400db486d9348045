#include "expr/functions/function_rows.hpp"

#include <algorithm>
#include <variant>

#include "core/type_rows.hpp"

namespace garuda::expr {
namespace {

constexpr std::size_t kAny = 65'000;  // arguments, or none that is a constant

using F = Function;
using E = RowEffect;
using C = CallForm;

constexpr FunctionRow kFunctions[] = {
    {F::compare, "", C::infix, E::own, 2, 2, kAny},
    {F::all, "and", C::infix, E::own, 2, 2, kAny},
    {F::any, "or", C::infix, E::own, 2, 2, kAny},
    {F::negate, "not", C::prefix, E::own, 1, 1, kAny},
    {F::is_null, "is_null", C::prefix, E::own, 1, 1, kAny},
    {F::is_true, "is_true", C::prefix, E::own, 1, 1, kAny},
    {F::select, "if", C::prefix, E::own, 3, 3, kAny},
    {F::coalesce, "coalesce", C::chain, E::own, 1, kAny, kAny},
    {F::least, "least", C::chain, E::own, 1, kAny, kAny},
    {F::greatest, "greatest", C::chain, E::own, 1, kAny, kAny},
    {F::in, "in", C::prefix, E::own, 1, kAny, 1},
    {F::add, "+", C::infix, E::partial, 2, 2, kAny},
    {F::subtract, "-", C::infix, E::partial, 2, 2, kAny},
    {F::multiply, "*", C::infix, E::partial, 2, 2, kAny},
    {F::divide, "/", C::infix, E::partial, 2, 2, kAny},
    {F::remainder, "%", C::infix, E::partial, 2, 2, kAny},
    {F::floor_divide, "//", C::infix, E::partial, 2, 2, kAny},
    {F::floor_remainder, "mod", C::infix, E::partial, 2, 2, kAny},
    {F::opposite, "-", C::prefix, E::partial, 1, 1, kAny},
    {F::absolute, "abs", C::prefix, E::partial, 1, 1, kAny},
    {F::round, "round", C::prefix, E::partial, 1, 2, 1},
    {F::floor, "floor", C::prefix, E::partial, 1, 1, kAny},
    {F::ceil, "ceil", C::prefix, E::partial, 1, 1, kAny},
    {F::cast, "cast", C::prefix, E::partial, 1, 1, kAny},
    {F::like, "like", C::prefix, E::total, 2, 3, 1},
    {F::starts_with, "starts_with", C::prefix, E::total, 2, 2, kAny},
    {F::ends_with, "ends_with", C::prefix, E::total, 2, 2, kAny},
    {F::contains, "contains", C::prefix, E::total, 2, 2, kAny},
    {F::regexp_matches, "regexp_matches", C::prefix, E::total, 2, 2, 1},
    {F::regexp_replace, "regexp_replace", C::prefix, E::total, 3, 3, 1},
    {F::regexp_replace_all, "regexp_replace_all", C::prefix, E::total, 3, 3, 1},
    {F::substring, "substring", C::prefix, E::partial, 2, 3, kAny},
    {F::length, "length", C::prefix, E::total, 1, 1, kAny},
    {F::octet_length, "octet_length", C::prefix, E::total, 1, 1, kAny},
    {F::upper, "upper", C::prefix, E::total, 1, 1, kAny},
    {F::lower, "lower", C::prefix, E::total, 1, 1, kAny},
    {F::trim, "trim", C::prefix, E::total, 1, 2, kAny},
    {F::trim_left, "ltrim", C::prefix, E::total, 1, 2, kAny},
    {F::trim_right, "rtrim", C::prefix, E::total, 1, 2, kAny},
    {F::concat, "concat", C::chain, E::total, 1, kAny, kAny},
    {F::extract, "extract", C::prefix, E::total, 1, 1, kAny},
    {F::truncate, "date_trunc", C::prefix, E::partial, 1, 1, kAny},
    {F::add_interval, "add_interval", C::prefix, E::partial, 4, 4, 1},
};
static_assert(std::ranges::all_of(kFunctions, [](FunctionRow const& row) {
  return &row - kFunctions == static_cast<std::ptrdiff_t>(row.function);
}));

TypeFamily family_of(DataType const& type) { return type_row(type.id).family; }
bool is_boolean(DataType const& type) { return type.id == TypeId::boolean; }
/// Decimals that are computed with, whose scales are those of SQL.
bool is_decimal(DataType const& type) {
  return family_of(type) == TypeFamily::decimal && kind_of(type) && type.scale >= 0 && type.scale <= type.precision;
}
bool is_string(DataType const& type) { return is_text(type.id); }
bool is_bytes(DataType const& type) { return family_of(type) == TypeFamily::bytes; }
bool is_wide_integer(DataType const& type) { return type.id == TypeId::int64; }
bool is_temporal(DataType const& type) { return family_of(type) == TypeFamily::temporal; }
bool is_day(DataType const& type) { return type.id == TypeId::date32 || type.id == TypeId::date64; }
bool is_time_of_day(DataType const& type) { return type.id == TypeId::time32 || type.id == TypeId::time64; }
bool is_timestamp(DataType const& type) { return type.id == TypeId::timestamp; }

/// Whether arithmetic takes values of the type. Values of float16 are only read, compared and cast.
bool is_number(DataType const& type) {
  return is_integer(type.id) || (family_of(type) == TypeFamily::floating && type_row(type.id).width > 2);
}

/// Whether values of two types can stand for each other: of strings, and of binary, the layout does not matter.
bool are_alike(DataType const& a, DataType const& b) {
  auto const has_layout = [](DataType const& type) { return is_variable_width(type) || is_view(type); };
  return a == b || (has_layout(a) && has_layout(b) && is_text(a.id) == is_text(b.id));
}

bool is_constant(Expression const& expression) { return expression.form == Expression::Form::constant; }
bool is_null_constant(Expression const& expression) {
  return is_constant(expression) && std::holds_alternative<std::monostate>(expression.value);
}

bool are_all_alike(std::vector<Expression> const& arguments, std::size_t first) {
  return std::ranges::all_of(arguments, [&](Expression const& argument) {
    return &argument < &arguments[first] || are_alike(argument.type, arguments[first].type);
  });
}

/// Whether arguments from `first` on are constants of such a type that are not null.
bool are_constants(std::vector<Expression> const& arguments, std::size_t first, bool (*is_type)(DataType const&)) {
  return std::all_of(arguments.begin() + static_cast<std::ptrdiff_t>(first), arguments.end(),
                     [&](Expression const& argument) {
                       return is_constant(argument) && !is_null_constant(argument) && is_type(argument.type);
                     });
}

/// A timestamp whose fields are those of its numbers.
bool has_utc_fields(DataType const& type) {
  auto const& zone = type.timezone;
  return zone.empty() || zone == "UTC" || zone == "Z" || zone == "+00:00" || zone == "Etc/UTC";
}

bool has_field(DataType const& type, TimeField field) {
  if (is_time_of_day(type)) return field >= TimeField::hour;
  return is_day(type) || (is_timestamp(type) && has_utc_fields(type));
}

bool can_be_truncated_to(TimeField field) {
  return field != TimeField::iso_year && field != TimeField::day_of_year && field != TimeField::day_of_week &&
         field != TimeField::iso_day_of_week && field != TimeField::epoch;
}

using Types = std::optional<DataType>;

Types type_where(bool is_taken, DataType const& type) { return is_taken ? Types(type) : std::nullopt; }
DataType boolean_of() { return DataType{TypeId::boolean}; }
DataType count_of() { return DataType{TypeId::int64}; }

/// Arithmetic of two numbers of one type, or of two decimals whose result is asked for.
Types arithmetic_of(std::vector<Expression> const& arguments, Types const& asked) {
  auto const& a = arguments[0].type;
  auto const& b = arguments[1].type;
  if (is_decimal(a) && is_decimal(b)) return asked && is_decimal(*asked) ? asked : std::nullopt;
  return type_where(is_number(a) && a == b, a);
}

/// Functions of one number.
Types rounding_of(FunctionRow const& row, std::vector<Expression> const& arguments, Types const& asked) {
  auto const& type = arguments[0].type;
  if (row.function == Function::round && !are_constants(arguments, 1, is_wide_integer)) return std::nullopt;
  if (is_decimal(type)) return asked && is_decimal(*asked) ? asked : type;
  return type_where(is_number(type), type);
}

Types conditional_of(FunctionRow const& row, std::vector<Expression> const& arguments) {
  auto const& type = arguments[0].type;
  switch (row.function) {
    case Function::compare:
      return type_where(are_alike(type, arguments[1].type) || (is_decimal(type) && is_decimal(arguments[1].type)),
                        boolean_of());
    case Function::select:
      return type_where(is_boolean(type) && are_all_alike(arguments, 1), arguments[1].type);
    case Function::in:
      return type_where(are_all_alike(arguments, 0) && std::all_of(arguments.begin() + 1, arguments.end(), is_constant),
                        boolean_of());
    case Function::is_null:
      return boolean_of();
    case Function::coalesce:
    case Function::least:
    case Function::greatest:
      return type_where(are_all_alike(arguments, 0), type);
    default:
      return type_where(std::ranges::all_of(arguments, is_boolean, &Expression::type), boolean_of());
  }
}

Types text_of(FunctionRow const& row, std::vector<Expression> const& arguments) {
  auto const& type = arguments[0].type;
  bool const is_bytes_or_text = is_bytes(type) && type.id != TypeId::fixed_size_binary;
  switch (row.function) {
    case Function::octet_length:
      return type_where(is_bytes(type), count_of());
    case Function::starts_with:
    case Function::ends_with:
    case Function::contains:
      return type_where(is_bytes_or_text && are_all_alike(arguments, 0), boolean_of());
    case Function::concat:
      return type_where(is_bytes_or_text && are_all_alike(arguments, 0), type);
    case Function::length:
      return type_where(is_string(type), count_of());
    case Function::like:
    case Function::regexp_matches:
      return type_where(is_string(type) && are_constants(arguments, 1, is_string), boolean_of());
    case Function::regexp_replace:
    case Function::regexp_replace_all:
      return type_where(is_string(type) && are_constants(arguments, 1, is_string), type);
    case Function::substring:
      return type_where(is_string(type) && std::all_of(arguments.begin() + 1, arguments.end(),
                                                       [](Expression const& a) { return is_wide_integer(a.type); }),
                        type);
    default:
      return type_where(std::ranges::all_of(arguments, is_string, &Expression::type), type);
  }
}

Types time_of(FunctionRow const& row, std::vector<Expression> const& arguments, TimeField field) {
  auto const& type = arguments[0].type;
  if (row.function == Function::add_interval)
    return type_where(
        (is_day(type) || is_timestamp(type)) && has_utc_fields(type) && are_constants(arguments, 1, is_wide_integer),
        type);
  if (!has_field(type, field)) return std::nullopt;
  if (row.function == Function::truncate) return type_where(can_be_truncated_to(field), type);
  return field == TimeField::epoch ? DataType{TypeId::float64} : count_of();
}

Types ruled_type(FunctionRow const& row, std::vector<Expression> const& arguments, TimeField field,
                 Types const& asked) {
  if (row.function < Function::add) return conditional_of(row, arguments);
  if (row.function <= Function::floor_remainder) return arithmetic_of(arguments, asked);
  if (row.function < Function::cast) return rounding_of(row, arguments, asked);
  if (row.function < Function::extract) return text_of(row, arguments);
  return time_of(row, arguments, field);
}

}  // namespace

FunctionRow const& function_row(Function function) noexcept { return kFunctions[static_cast<std::size_t>(function)]; }

std::size_t num_operands_of(FunctionRow const& row, std::size_t arguments) noexcept {
  return std::min(arguments, row.constants_from);
}

std::optional<DataType> result_of(FunctionRow const& row, std::vector<Expression> const& arguments, TimeField field,
                                  std::optional<DataType> const& asked) {
  if (row.function == Function::cast || arguments.size() < row.least || arguments.size() > row.most)
    return std::nullopt;
  if (!std::ranges::all_of(arguments, [](Expression const& a) { return kind_of(a.type).has_value(); }))
    return std::nullopt;
  auto const type = ruled_type(row, arguments, field, asked);
  return !type || !asked || are_alike(*type, *asked) ? type : std::nullopt;
}

bool can_be_cast(DataType const& from, DataType const& to) {
  if (!kind_of(from) || !kind_of(to) || from.id == TypeId::dictionary || to.id == TypeId::dictionary) return false;
  auto const is_plain = [](DataType const& type) {
    return is_boolean(type) || is_integer(type.id) || family_of(type) == TypeFamily::floating || is_decimal(type);
  };
  auto const has_text = [&](DataType const& type) {
    return is_plain(type) || (is_temporal(type) && type.id != TypeId::duration);
  };
  auto const is_stored_as = [](DataType const& time, DataType const& integer) {
    return is_temporal(time) && integer.id == (type_row(time.id).width == 8 ? TypeId::int64 : TypeId::int32);
  };
  auto const is_instant = [](DataType const& type) { return is_day(type) || is_timestamp(type); };
  if (are_alike(from, to) || (is_plain(from) && is_plain(to)) || is_stored_as(from, to) || is_stored_as(to, from))
    return true;
  if ((is_string(from) && has_text(to)) || (is_string(to) && has_text(from))) return true;
  if (is_bytes(from) && is_bytes(to)) return to.id != TypeId::fixed_size_binary;
  if (is_instant(from) && is_instant(to)) return true;
  if (is_time_of_day(to)) return is_time_of_day(from) || (is_timestamp(from) && has_utc_fields(from));
  return from.id == TypeId::duration && to.id == TypeId::duration;
}

}  // namespace garuda::expr
