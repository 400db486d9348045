#include "tests/query/random_expressions.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/type_rows.hpp"
#include "tests/query/reference_expression.hpp"
#include "tests/reference/data_types.hpp"

namespace garuda::testing {
namespace {

using reference::timed;
using reference::typed;

DataType const int_type{TypeId::int64};
DataType const string_type{TypeId::utf8};

TypeFamily family_of(DataType const& type) { return type_row(type.id).family; }
bool is_decimal(DataType const& type) { return family_of(type) == TypeFamily::decimal; }
ScalarExpression whole(std::int64_t value) { return literal(value); }
ScalarExpression string(std::string value) { return literal(std::move(value)); }

}  // namespace

DataType RandomExpressions::some_type() {
  if (!schema_.empty() && !draw_.one_in(4)) return schema_[draw_.below(schema_.size())].type;
  return reference::plain_type(draw_.of(column_types()));
}

ScalarExpression RandomExpressions::any(int depth) { return of(some_type(), depth); }

ScalarExpression RandomExpressions::of(DataType const& type, int depth) {
  if (depth == 0 || draw_.one_in(4)) return leaf(type);
  if (draw_.one_in(6)) return choice(type, depth - 1);
  if (type.id == TypeId::boolean) return boolean(depth - 1);
  if (is_text(type.id)) return text(depth - 1);
  if (family_of(type) == TypeFamily::temporal) return moment(type, depth - 1);
  return is_decimal(type) ? decimal(depth - 1) : number(type, depth - 1);
}

ScalarExpression RandomExpressions::partial(std::string function, std::vector<ScalarExpression> arguments) {
  auto made = call(std::move(function), std::move(arguments));
  made.null_on_failure = !may_fail_;
  return made;
}

ScalarExpression RandomExpressions::partial_cast(ScalarExpression value, DataType const& type) {
  return cast(std::move(value), type, !may_fail_ || draw_.one_in(2));
}

ScalarExpression RandomExpressions::choice(DataType const& type, int depth) {
  auto const which = draw_.below(4);
  if (which == 0) return call("if", {predicate(depth), of(type, depth), of(type, depth)});
  std::vector<ScalarExpression> arguments{of(type, depth), of(type, depth)};
  if (draw_.one_in(2)) arguments.push_back(leaf(type));
  return call(which == 1 ? "coalesce" : which == 2 ? "least" : "greatest", std::move(arguments));
}

ScalarExpression RandomExpressions::comparison(int depth) {
  auto const type = some_type();
  auto other = type;
  if (family_of(type) == TypeFamily::integer && draw_.one_in(3))
    other = draw_.of({DataType{TypeId::int8}, DataType{TypeId::int64}, typed(TypeId::decimal128, 18, 4)});
  if (is_decimal(type) && draw_.one_in(3)) other = DataType{TypeId::int32};
  if (family_of(type) == TypeFamily::floating && draw_.one_in(3))
    other = draw_.of({DataType{TypeId::float32}, DataType{TypeId::int32}});
  auto const* const name =
      draw_.of<char const*>({"equal", "not_equal", "lt", "lte", "gt", "gte", "is_not_distinct_from"});
  return call(name, {of(type, depth), of(other, depth)});
}

ScalarExpression RandomExpressions::boolean(int depth) {
  switch (draw_.below(9)) {
    case 0:
      return call("not", {predicate(depth)});
    case 1:
      return call(draw_.of<char const*>({"is_null", "is_not_null"}), {any(depth)});
    case 2:
      return call("is_true", {predicate(depth)});
    case 3: {
      std::vector<ScalarExpression> parts{predicate(depth), predicate(depth)};
      if (draw_.one_in(3)) parts.push_back(predicate(depth));
      return call(draw_.of<char const*>({"and", "or"}), std::move(parts));
    }
    case 4: {
      auto const some = some_type();
      auto const type = is_decimal(some) ? typed(TypeId::decimal128, 18, 4) : some;
      std::vector<ScalarExpression> arguments{is_decimal(some) ? partial_cast(of(some, depth), type) : of(type, depth)};
      for (auto count = 1 + draw_.below(5); count > 0; --count) arguments.push_back(constant(type));
      return call("in", std::move(arguments));
    }
    case 5: {
      auto const type = some_type();
      return call("between", {of(type, depth), leaf(type), leaf(type)});
    }
    case 6:
      return text_test(depth);
    default:
      return comparison(depth);
  }
}

ScalarExpression RandomExpressions::text_test(int depth) {
  auto value = of(string_type, depth);
  if (draw_.one_in(2))
    return call(draw_.of<char const*>({"starts_with", "ends_with", "contains"}), {value, of(string_type, depth)});
  std::string pattern;
  for (auto count = draw_.below(4); count > 0; --count)
    pattern += draw_.of<char const*>({"%", "_", "a", "b", "Ä", "%%", "!%", "日"});
  bool const has_escape = pattern.find('!') != std::string::npos;
  if (!has_escape) return call("like", {value, string(pattern)});
  return call("like", {value, string(pattern), string("!")});
}

ScalarExpression RandomExpressions::number(DataType const& type, int depth) {
  bool const is_float = family_of(type) == TypeFamily::floating;
  auto const which = draw_.below(8);
  if (which == 0) return partial(draw_.of<char const*>({"negate", "abs"}), {of(type, depth)});
  if (which == 1) return partial("round", {of(type, depth), whole(static_cast<std::int64_t>(draw_.below(4)) - 1)});
  if (which == 2) {
    auto from = some_type();
    bool const is_plain = family_of(from) != TypeFamily::temporal && !is_text(from.id);
    return partial_cast(of(is_plain ? from : type, depth), type);
  }
  if (which == 3 && type == int_type) {
    if (draw_.one_in(2)) return call(draw_.of<char const*>({"char_length", "octet_length"}), {of(string_type, depth)});
    auto const* const field = draw_.of<char const*>({"year", "month", "day", "quarter", "week", "day_of_year", "hour"});
    auto const is_date = draw_.one_in(2);
    return call("extract",
                {string(field),
                 of(is_date ? DataType{TypeId::date32} : timed(TypeId::timestamp, TimeUnit::microsecond), depth)});
  }
  if (which == 4) return partial(draw_.of<char const*>({"floor", "ceil"}), {of(type, depth)});
  auto const* name = draw_.of<char const*>({"add", "subtract", "multiply", "add", "divide", "modulus"});
  if (is_float && !divides_floats_ && std::string(name) == "divide") name = "add";
  // Integers of another width give the wider type, which is cast back.
  if (!is_float && draw_.one_in(4))
    return partial_cast(partial(name, {of(type, depth), of({TypeId::int32}, depth)}), type);
  return partial(name, {of(type, depth), of(type, depth)});
}

ScalarExpression RandomExpressions::decimal(int depth) {
  auto const some = [&] { return leaf(draw_.of({typed(TypeId::decimal128, 9, 2), typed(TypeId::decimal128, 18, 4)})); };
  switch (draw_.below(6)) {
    case 0:
      return partial(draw_.of<char const*>({"negate", "abs", "floor", "ceil"}), {some()});
    case 1:
      return partial("round", {some(), whole(static_cast<std::int64_t>(draw_.below(5)) - 1)});
    case 2:
      return partial_cast(
          of(draw_.of({int_type, DataType{TypeId::float64}, DataType{TypeId::int32}, DataType{TypeId::boolean}}),
             depth),
          typed(TypeId::decimal128, 14, 3));
    case 3:
      return partial(draw_.of<char const*>({"add", "subtract", "multiply"}), {some(), of({TypeId::int32}, depth)});
    default:
      return partial(draw_.of<char const*>({"add", "subtract", "multiply", "divide", "modulus"}), {some(), some()});
  }
}

ScalarExpression RandomExpressions::text(int depth) {
  switch (draw_.below(5)) {
    case 0:
      return call(draw_.of<char const*>({"upper", "lower"}), {of(string_type, depth)});
    case 1: {
      std::vector<ScalarExpression> arguments{of(string_type, depth)};
      if (draw_.one_in(2)) arguments.push_back(string("aÄ "));
      return call(draw_.of<char const*>({"trim", "ltrim", "rtrim"}), std::move(arguments));
    }
    case 2: {
      std::vector<ScalarExpression> arguments{of(string_type, depth),
                                              whole(static_cast<std::int64_t>(draw_.below(6)) - 1)};
      if (draw_.one_in(2)) arguments.push_back(whole(static_cast<std::int64_t>(draw_.below(4))));
      return partial("substring", std::move(arguments));
    }
    case 3:
      return call("concat", {of(string_type, depth), of(string_type, depth)});
    default: {
      auto type = some_type();
      while (family_of(type) == TypeFamily::floating) type = some_type();
      return cast(of(type, depth), string_type);
    }
  }
}

ScalarExpression RandomExpressions::moment(DataType const& type, int depth) {
  auto const timestamp = timed(TypeId::timestamp, TimeUnit::microsecond);
  switch (draw_.below(3)) {
    case 0:
      return partial_cast(of(draw_.one_in(2) ? DataType{TypeId::date32} : timestamp, depth), type);
    case 1:
      return partial("date_trunc", {string(draw_.of<char const*>({"year", "quarter", "month", "week", "day", "hour"})),
                                    of(type, depth)});
    default:
      return partial("add_interval", {of(type, depth), whole(static_cast<std::int64_t>(draw_.below(30)) - 15),
                                      whole(static_cast<std::int64_t>(draw_.below(60)) - 30),
                                      whole(type.id == TypeId::date32 ? 0 : 3'600'000'000)});
  }
}

ScalarExpression RandomExpressions::column_at(std::size_t position) {
  auto const& name = schema_[position].name;
  bool const is_one = std::ranges::count(schema_, name, &Field::name) == 1;
  return is_one && draw_.one_in(2) ? column(name) : column(position);
}

ScalarExpression RandomExpressions::some_column() {
  return schema_.empty() ? whole(1) : column_at(draw_.below(schema_.size()));
}

ScalarExpression RandomExpressions::leaf(DataType const& type) {
  std::vector<std::size_t> fitting;
  for (std::size_t c = 0; c < schema_.size(); ++c)
    if (schema_[c].type == type || (is_decimal(type) && is_decimal(schema_[c].type) && schema_[c].type.precision <= 18))
      fitting.push_back(c);
  return fitting.empty() || draw_.one_in(5) ? constant(type) : column_at(draw_.of(fitting));
}

ScalarExpression RandomExpressions::constant(DataType const& type) {
  if (draw_.one_in(8)) return literal(Literal{type, {}});
  if (type.id == TypeId::boolean) return literal(draw_.one_in(2));
  if (is_text(type.id)) return string(random_text(draw_));
  if (family_of(type) == TypeFamily::floating) {
    auto const value = random_float(draw_);
    return literal(Literal{type, type.id == TypeId::float32 ? static_cast<double>(static_cast<float>(value)) : value});
  }
  if (!is_decimal(type)) {
    auto const value = random_integer(type, draw_);
    if (type.id == TypeId::uint32) return literal(Literal{type, static_cast<std::uint64_t>(value)});
    return literal(Literal{type, value});
  }
  auto const some = type.precision <= 9 ? typed(TypeId::decimal64, 9, 2) : typed(TypeId::decimal128, 18, 4);
  auto const value = random_integer(some, draw_);
  return literal(Literal{some, std::array{static_cast<std::uint64_t>(value), value < 0 ? ~std::uint64_t{0} : 0}});
}

std::pair<ScalarExpression, ScalarExpression> RandomExpressions::keys(RandomExpressions& other, int depth) {
  auto const type = some_type();
  auto wanted = type;
  if (type.id == TypeId::int32 && draw_.one_in(2))
    wanted = draw_.of({DataType{TypeId::int64}, DataType{TypeId::float64}, DataType{TypeId::int8}});
  if (type.id == TypeId::int64 && draw_.one_in(2))
    wanted = draw_.of({DataType{TypeId::int32}, typed(TypeId::decimal128, 18, 4)});
  return {of(type, depth), other.of(wanted, depth)};
}

}  // namespace garuda::testing
