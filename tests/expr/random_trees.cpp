#include "tests/expr/random_trees.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "core/type_rows.hpp"
#include "tests/reference/data_types.hpp"
#include "tests/unwrap.hpp"

namespace garuda::expr {
namespace {

using testing::value_of;

DataType const truth_type{TypeId::boolean};
DataType const whole_type{TypeId::int64};
DataType const string_type{TypeId::utf8};

bool is_plain(DataType const& type) { return !is_text(type.id) && type_row(type.id).family != TypeFamily::temporal; }
bool is_any(DataType const&) { return true; }
bool is_a_decimal(DataType const& type) { return is_decimal_type(type); }
bool is_moment(DataType const& type) { return type.id == TypeId::date32 || type.id == TypeId::timestamp; }

std::vector<Expression> list(Expression a) {
  std::vector<Expression> made;
  made.push_back(std::move(a));
  return made;
}
std::vector<Expression> list(Expression a, Expression b) {
  auto made = list(std::move(a));
  made.push_back(std::move(b));
  return made;
}
std::vector<Expression> list(Expression a, Expression b, Expression c) {
  auto made = list(std::move(a), std::move(b));
  made.push_back(std::move(c));
  return made;
}

Expression whole(std::int64_t value) { return value_of(constant(value, whole_type)); }
Expression string(std::string value) { return value_of(constant(std::move(value), string_type)); }

}  // namespace

std::vector<DataType> const& tree_types() {
  static std::vector<DataType> const types{{TypeId::boolean},
                                           {TypeId::int8},
                                           {TypeId::int32},
                                           {TypeId::int64},
                                           {TypeId::uint16},
                                           {TypeId::uint32},
                                           {TypeId::uint64},
                                           {TypeId::float32},
                                           {TypeId::float64},
                                           {TypeId::date32},
                                           {TypeId::int16},
                                           reference::typed(TypeId::decimal64, 9, 2),
                                           reference::typed(TypeId::decimal128, 38, 10),
                                           reference::typed(TypeId::decimal128, 20, 0),
                                           reference::timed(TypeId::timestamp, TimeUnit::microsecond),
                                           {TypeId::utf8}};
  return types;
}

Expression Trees::of(DataType const& type, int depth) {
  if (depth == 0 || below(6) == 0) return leaf(type);
  if (below(5) == 0) return choice(type, depth - 1);
  if (type.id == TypeId::boolean) return boolean(depth - 1);
  if (is_text(type.id)) return text(depth - 1);
  if (is_moment(type)) return moment(type, depth - 1);
  if (below(4) == 0) return value_of(cast(of(type_where(is_plain), depth - 1), type, failure()));
  if (below(8) == 0 && !is_float(type)) return value_of(cast(of(string_type, depth - 1), type, failure()));
  if (is_decimal_type(type)) return decimal(type, depth - 1);
  if (type.id == TypeId::int64 && below(2) == 0) return integer(type, depth - 1);
  return number(type, depth - 1);
}

DataType Trees::type_where(bool (*holds)(DataType const&)) {
  for (;;)
    if (auto const& type = tree_types()[below(tree_types().size())]; holds(type)) return type;
}

Expression Trees::choice(DataType const& type, int depth) {
  auto const which = below(4);
  if (which == 0)
    return value_of(call(Function::select, list(of(truth_type, depth), of(type, depth), of(type, depth))));
  auto const function = which == 1 ? Function::coalesce : which == 2 ? Function::least : Function::greatest;
  auto arguments = list(of(type, depth), of(type, depth));
  if (below(2) == 0) arguments.push_back(of(type, depth));
  return value_of(call(function, std::move(arguments)));
}

Expression Trees::boolean(int depth) {
  auto const which = below(11);
  if (which == 0) return value_of(call(Function::negate, list(of(truth_type, depth))));
  if (which == 1) return value_of(call(Function::is_null, list(of(type_where(is_any), depth))));
  if (which == 2) return value_of(call(Function::is_true, list(of(truth_type, depth))));
  if (which < 5)
    return value_of(
        call(which == 3 ? Function::all : Function::any, list(of(truth_type, depth), of(truth_type, depth))));
  if (which == 5) {
    auto const& type = type_where(is_any);
    auto arguments = list(of(type, depth));
    for (auto count = below(12); count > 0; --count) arguments.push_back(literal(type));
    return value_of(call(Function::in, std::move(arguments)));
  }
  if (which == 6) {
    auto const function = static_cast<Function>(static_cast<std::size_t>(Function::starts_with) + below(3));
    return value_of(call(function, list(of(string_type, depth), of(string_type, depth))));
  }
  if (which == 7) {
    auto const* const patterns = U"%_ab!Ä1";
    std::string pattern;
    for (auto count = below(6); count > 0; --count)
      pattern += std::string(below(3) == 0                ? "%"
                             : below(3) == 0              ? "_"
                             : patterns[below(7)] == U'Ä' ? "Ä"
                             : below(2) == 0              ? "a"
                                                          : "b");
    auto arguments = list(of(string_type, depth), string(below(4) == 0 ? "!%" + pattern : pattern));
    if (below(2) == 0) arguments.push_back(string("!"));
    return value_of(call(Function::like, std::move(arguments)));
  }
  auto const type = type_where(is_any);
  auto const other = is_decimal_type(type) ? type_where(is_a_decimal) : type;
  return value_of(compare(of(type, depth), static_cast<Comparator>(below(6)), of(other, depth)));
}

/// Lengths and fields.
Expression Trees::integer(DataType const&, int depth) {
  if (below(2) == 0)
    return value_of(call(below(2) == 0 ? Function::length : Function::octet_length, list(of(string_type, depth))));
  auto const field = static_cast<TimeField>(below(static_cast<std::size_t>(TimeField::epoch)));
  return value_of(extract(field, of(type_where(is_moment), depth)));
}

Expression Trees::number(DataType const& type, int depth) {
  auto const function = static_cast<Function>(static_cast<std::size_t>(Function::add) + below(12));
  auto arguments = list(of(type, depth));
  if (function < Function::opposite) arguments.push_back(of(type, depth));
  if (function == Function::round) arguments.push_back(whole(static_cast<std::int64_t>(below(8)) - 4));
  return value_of(call(function, std::move(arguments), failure()));
}

Expression Trees::decimal(DataType const& type, int depth) {
  auto const function = static_cast<Function>(static_cast<std::size_t>(Function::add) + below(12));
  bool const is_same = function == Function::opposite || function == Function::absolute;
  auto arguments = list(of(is_same ? type : type_where(is_a_decimal), depth));
  if (function < Function::opposite) arguments.push_back(of(type_where(is_a_decimal), depth));
  if (function == Function::round) arguments.push_back(whole(static_cast<std::int64_t>(below(16)) - 4));
  return value_of(call(function, std::move(arguments), failure(), type));
}

Expression Trees::text(int depth) {
  auto const which = below(6);
  if (which == 0)
    return value_of(call(below(2) == 0 ? Function::upper : Function::lower, list(of(string_type, depth))));
  if (which == 1) {
    auto const function = static_cast<Function>(static_cast<std::size_t>(Function::trim) + below(3));
    auto arguments = list(of(string_type, depth));
    if (below(2) == 0) arguments.push_back(below(2) == 0 ? of(string_type, depth) : string("aÄ "));
    return value_of(call(function, std::move(arguments)));
  }
  if (which == 2) {
    auto arguments = list(of(string_type, depth),
                          below(2) == 0 ? whole(static_cast<std::int64_t>(below(9)) - 3) : of(whole_type, depth));
    if (below(2) == 0)
      arguments.push_back(below(2) == 0 ? whole(static_cast<std::int64_t>(below(6))) : of(whole_type, depth));
    return value_of(call(Function::substring, std::move(arguments), failure()));
  }
  if (which < 5) {
    auto arguments = list(of(string_type, depth), of(string_type, depth));
    if (below(4) == 0) arguments.push_back(of(string_type, depth));
    return value_of(call(Function::concat, std::move(arguments)));
  }
  auto type = type_where(is_any);
  while (is_float(type)) type = type_where(is_any);
  return value_of(cast(of(type, depth), string_type));
}

Expression Trees::moment(DataType const& type, int depth) {
  auto const which = below(4);
  auto const on_failure = failure();
  if (which == 0) return value_of(cast(of(type_where(is_moment), depth), type, on_failure));
  if (which == 1) return value_of(cast(of(string_type, depth), type, on_failure));
  if (which == 2) {
    TimeField const fields[] = {TimeField::year,        TimeField::quarter,     TimeField::month,     TimeField::week,
                                TimeField::day,         TimeField::hour,        TimeField::minute,    TimeField::second,
                                TimeField::millisecond, TimeField::microsecond, TimeField::nanosecond};
    return value_of(truncate(fields[below(11)], of(type, depth), on_failure));
  }
  auto arguments = list(of(type, depth), whole(static_cast<std::int64_t>(below(60)) - 30),
                        whole(static_cast<std::int64_t>(below(800)) - 400));
  arguments.push_back(whole(below(2) == 0 ? 0 : static_cast<std::int64_t>(random_()) * 100 - 1'000'000'007));
  return value_of(call(Function::add_interval, std::move(arguments), on_failure));
}

Expression Trees::leaf(DataType const& type) {
  auto const& types = tree_types();
  for (std::size_t t = 0; t < types.size(); ++t)
    if (types[t] == type && below(4) != 0) return column(t + below(2) * types.size(), type, "c");
  return literal(type);
}

Expression Trees::literal(DataType const& type) {
  if (below(5) == 0) return value_of(constant({}, type));
  if (type.id == TypeId::boolean) return value_of(constant(below(2) == 1, type));
  if (is_float(type)) return value_of(constant(static_cast<double>(below(9)) - 4, type));
  if (is_text(type.id)) return string(some_text());
  if (is_decimal_type(type)) return value_of(constant(Int128(below(400)) - 150, type));
  return value_of(constant(static_cast<std::int64_t>(below(5)), type));
}

std::string Trees::some_text() {
  char const* const texts[] = {"",
                               " ",
                               "a",
                               "A",
                               "ab",
                               "b%a",
                               "Äb",
                               "äÖÜ",
                               " ab ",
                               "日本",
                               "😀",
                               "a much longer text, b",
                               "1",
                               "-17",
                               " 250 ",
                               "1.5",
                               "-2.345",
                               "70000",
                               "99999999999",
                               "1e2",
                               "true",
                               "F",
                               "2024-02-29",
                               "2023-02-29",
                               "0001-12-31 23:59:59.5",
                               "1970-01-01T00:00"};
  return texts[below(std::size(texts))];
}

namespace {

template <class Value>
Int128 random_integer(DataType const& type, Trees& random) {
  if (is_decimal_type(type)) {
    Int128 most = 1;
    for (auto digits = type.precision; digits > 0; --digits) most *= 10;
    Int128 const values[] = {0, 1,  -5,   most - 1, 1 - most,
                             5, 50, -150, most / 2, Int128(random.below(100'000)) - 50'000};
    return values[random.below(std::size(values))];
  }
  auto const bits = type.id == TypeId::boolean ? 1 : type_row(type.id).width * 8;
  auto const span = Int128{1} << bits;
  auto const low = type_row(type.id).is_signed ? -(span / 2) : Int128{0};
  Int128 const values[] = {0,
                           1,
                           low,
                           low + span - 1,
                           low + span / 2,
                           static_cast<Int128>(random.below(100)),
                           type.id == TypeId::timestamp ? Int128(random.below(1U << 31)) * 1'000'003 : Int128{3},
                           type.id == TypeId::date32 ? Int128(random.below(60'000)) - 30'000 : Int128{2}};
  auto const value = values[random.below(std::size(values))];
  return value < low || value >= low + span ? 0 : value;
}

}  // namespace

RandomColumn::RandomColumn(DataType const& type, std::size_t count, bool has_nulls, Trees& random) {
  vector = {*kind_of(type), false, memory.data(), has_nulls ? valid.data() : nullptr};
  for (std::size_t i = 0; i < count; ++i) {
    if (has_nulls) valid[i] = random.below(4) != 0 ? 1 : 0;
    cells[i].is_null = valid[i] == 0;
  }
  with_kind(vector.kind, [&]<class Value>(Value) {
    auto* const to = reinterpret_cast<Value*>(memory.data());
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<Value, std::string_view>) {
        if (cells[i].is_null) continue;
        cells[i].text = random.some_text();
        to[i] = cells[i].text;
      } else if constexpr (std::is_floating_point_v<Value>) {
        Value const values[] = {0,
                                Value(-0.0),
                                1,
                                -1,
                                Value(2.5),
                                std::numeric_limits<Value>::quiet_NaN(),
                                std::numeric_limits<Value>::infinity(),
                                std::numeric_limits<Value>::max(),
                                Value(-3e9),
                                Value(1e19),
                                Value(-0.25)};
        cells[i].real = to[i] = values[random.below(std::size(values))];
      } else {
        auto const value = random_integer<Value>(type, random);
        to[i] = static_cast<Value>(value);
        cells[i].integer = value;
      }
    }
  });
}

}  // namespace garuda::expr
