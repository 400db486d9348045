// Expressions over the table of edge values, where DuckDB's rules are those of this room.
#include "tests/expr/value_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tests/reference/data_types.hpp"
#include "tests/unwrap.hpp"

namespace garuda::expr {
namespace {

using reference::timed;
using reference::typed;
using testing::value_of;

DataType const bigint_type{TypeId::int64};
DataType const varchar_type{TypeId::utf8};
DataType const double_type{TypeId::float64};

/// The cases of one subject after the other.
class Cases {
 public:
  explicit Cases(std::vector<ValueColumn> const& columns) : columns_(columns) {}

  std::vector<ValueCase> run() {
    add_logic();
    add_numbers();
    add_decimals();
    add_texts();
    add_patterns();
    add_choices();
    add_times();
    add_number_casts();
    add_text_casts();
    return std::move(cases_);
  }

 private:
  Expression col(std::string const& name) const {
    auto const found = std::ranges::find(columns_, name, &ValueColumn::name);
    return column(static_cast<std::size_t>(found - columns_.begin()), found->type, name);
  }
  static Expression whole(std::int64_t value) { return value_of(constant(value, bigint_type)); }
  static Expression text(std::string value) { return value_of(constant(std::move(value), varchar_type)); }

  void add(std::string sql, Result<Expression> expression) {
    if (!expression) throw std::runtime_error(sql + ": " + expression.error().describe());
    cases_.push_back({std::move(sql), std::move(*expression)});
  }
  /// Rows without a value are null here, and errors that DuckDB's TRY makes null.
  void add_call(std::string const& sql, Function function, std::vector<Expression> arguments,
                std::optional<DataType> const& result = std::nullopt) {
    add(fmt::format("try({})", sql), call(function, std::move(arguments), OnFailure::null, result));
  }
  void add_cast(std::string const& name, std::string const& sql_type, DataType const& type) {
    add(fmt::format("try_cast({} as {})", name, sql_type), cast(col(name), type, OnFailure::null));
  }

  void add_logic() {
    add("b1 and b2", call(Function::all, {col("b1"), col("b2")}));
    add("b1 or b2", call(Function::any, {col("b1"), col("b2")}));
    add("not b1", call(Function::negate, {col("b1")}));
    add("b1 is null", call(Function::is_null, {col("b1")}));
    std::pair<std::string, Comparator> const comparators[] = {
        {"=", Comparator::equal},       {"<>", Comparator::not_equal}, {"<", Comparator::less},
        {"<=", Comparator::less_equal}, {">", Comparator::greater},    {">=", Comparator::greater_equal}};
    std::pair<std::string, std::string> const pairs[] = {{"i1", "i2"}, {"l1", "l2"}, {"d1", "d2"}, {"f1", "f2"},
                                                         {"p1", "p2"}, {"p1", "q2"}, {"q1", "w2"}, {"t1", "t2"},
                                                         {"c1", "c2"}, {"z1", "z2"}, {"k1", "k2"}, {"b1", "b2"}};
    for (auto const& [sign, comparator] : comparators)
      for (auto const& [a, b] : pairs) add(fmt::format("{} {} {}", a, sign, b), compare(col(a), comparator, col(b)));
  }

  void add_numbers() {
    std::pair<std::string, Function> const arithmetic[] = {
        {"+", Function::add}, {"-", Function::subtract}, {"*", Function::multiply}};
    for (auto const* const name : {"i", "l", "s", "u", "d", "f"}) {
      auto const a = std::string(name) + "1";
      auto const b = std::string(name) + "2";
      for (auto const& [sign, function] : arithmetic)
        add_call(fmt::format("{} {} {}", a, sign, b), function, {col(a), col(b)});
      add_call(fmt::format("abs({})", a), Function::absolute, {col(a)});
      if (*name != 'u') add_call(fmt::format("-{}", a), Function::opposite, {col(a)});
    }
    for (auto const* const name : {"i", "l"}) {
      auto const a = std::string(name) + "1";
      auto const b = std::string(name) + "2";
      add_call(fmt::format("{} // {}", a, b), Function::divide, {col(a), col(b)});
      // The least integer has a remainder by -1, which DuckDB does not compute.
      add(fmt::format("case when {0} is not null and {1} = -1 then 0 else try({0} % {1}) end", a, b),
          call(Function::remainder, {col(a), col(b)}, OnFailure::null));
    }
    add_call("d1 / d2", Function::divide, {col("d1"), col("d2")});
    add_call("d1 % d2", Function::remainder, {col("d1"), col("d2")});
    for (auto const* const name : {"d1", "f1"}) {
      add_call(fmt::format("floor({})", name), Function::floor, {col(name)});
      add_call(fmt::format("ceil({})", name), Function::ceil, {col(name)});
    }
    for (auto const digits : {-300, -2, -1, 0, 1, 2, 5, 17, 400})
      add_call(fmt::format("round(d1, {})", digits), Function::round, {col("d1"), whole(digits)});
    for (auto const digits : {-3, -1, 0, 2})
      add_call(fmt::format("round(l1, {})", digits), Function::round, {col("l1"), whole(digits)});
  }

  void add_decimals() {
    auto const decimal = [](std::int32_t precision, std::int32_t scale) {
      return typed(TypeId::decimal128, precision, scale);
    };
    add_call("p1 + p2", Function::add, {col("p1"), col("p2")}, decimal(10, 2));
    add_call("p1 - q2", Function::subtract, {col("p1"), col("q2")}, decimal(19, 4));
    add_call("q1 + p2", Function::add, {col("q1"), col("p2")}, decimal(19, 4));
    add_call("w1 + w2", Function::add, {col("w1"), col("w2")}, decimal(38, 10));
    add_call("w1 - w2", Function::subtract, {col("w1"), col("w2")}, decimal(38, 10));
    add_call("p1 * p2", Function::multiply, {col("p1"), col("p2")}, decimal(18, 4));
    // DuckDB's products of decimals of 18 digits have no more.
    add_call("p1::decimal(38, 2) * q2", Function::multiply, {col("p1"), col("q2")}, decimal(27, 6));
    add_call("q1::decimal(38, 4) * q2", Function::multiply, {col("q1"), col("q2")}, decimal(36, 8));
    add_call("p1 % p2", Function::remainder, {col("p1"), col("p2")}, decimal(9, 2));
    for (auto const* const name : {"p1", "q1", "w1"}) {
      auto const precision = *name == 'p' ? 9 : *name == 'q' ? 18 : 38;
      auto const scale = *name == 'p' ? 2 : *name == 'q' ? 4 : 10;
      add_call(fmt::format("abs({})", name), Function::absolute, {col(name)});
      add_call(fmt::format("-{}", name), Function::opposite, {col(name)});
      add_call(fmt::format("floor({})", name), Function::floor, {col(name)}, decimal(precision, 0));
      add_call(fmt::format("ceil({})", name), Function::ceil, {col(name)}, decimal(precision, 0));
      add_call(fmt::format("round({}, 1)", name), Function::round, {col(name), whole(1)}, decimal(precision, 1));
      add_call(fmt::format("round({}, -1)", name), Function::round, {col(name), whole(-1)}, decimal(precision, 0));
      add_call(fmt::format("round({})", name), Function::round, {col(name), whole(0)}, decimal(precision, 0));
      for (auto const& [digits, places] : {std::pair{9, 1}, {12, 4}, {38, 0}, {38, scale}, {5, 2}})
        add_cast(name, fmt::format("decimal({}, {})", digits, places), decimal(digits, places));
    }
  }

  void add_texts() {
    for (auto const* const name : {"length", "upper", "lower", "trim", "ltrim", "rtrim"}) {
      auto const function = std::string(name) == "length"  ? Function::length
                            : std::string(name) == "upper" ? Function::upper
                            : std::string(name) == "lower" ? Function::lower
                            : std::string(name) == "trim"  ? Function::trim
                            : std::string(name) == "ltrim" ? Function::trim_left
                                                           : Function::trim_right;
      add_call(fmt::format("{}(t1)", name), function, {col("t1")});
      if (name[1] == 't' || name[1] == 'r') add_call(fmt::format("{}(t1, t2)", name), function, {col("t1"), col("t2")});
    }
    add_call("strlen(t1)", Function::octet_length, {col("t1")});
    add_call("t1 || t2", Function::concat, {col("t1"), col("t2")});
    add_call("t1 || '-' || t2", Function::concat, {col("t1"), text("-"), col("t2")});
    add_call("starts_with(t1, t2)", Function::starts_with, {col("t1"), col("t2")});
    add_call("ends_with(t1, t2)", Function::ends_with, {col("t1"), col("t2")});
    add_call("contains(t1, t2)", Function::contains, {col("t1"), col("t2")});
    add_call("contains(t1, 'abc')", Function::contains, {col("t1"), text("abc")});
    for (auto const start : {1, 2, 3, 40})
      for (auto const length : {0, 1, 2, 100})
        add_call(fmt::format("substring(t1, {}, {})", start, length), Function::substring,
                 {col("t1"), whole(start), whole(length)});
    add_call("substring(t1, 2)", Function::substring, {col("t1"), whole(2)});
    add_call("substring(t1, least(greatest(l2, 1), 99), 3)", Function::substring,
             {col("t1"),
              value_of(call(Function::least, {value_of(call(Function::greatest, {col("l2"), whole(1)})), whole(99)})),
              whole(3)});
  }

  void add_patterns() {
    for (auto const* const pattern :
         {"",  "%",  "_",   "__",        "abc", "a%",  "%c",    "%b%", "a%c",  "a_c",   "%a%c%", "_b_",    "%ä%",
          "_", "%_", "_%_", "%abc%abc%", "%%",  "%b_", "xx%xx", "😀_😀", "a_%c", "%/_/%", "_bc%",  "%bc_bc", "%a_c"})
      add(fmt::format("t1 like '{}'", pattern), call(Function::like, {col("t1"), text(pattern)}));
    for (auto const* const pattern : {"a!_c", "a!%c", "!%", "%!%%", "a!!%"})
      add(fmt::format("t1 like '{}' escape '!'", pattern), call(Function::like, {col("t1"), text(pattern), text("!")}));
    for (auto const* const pattern : {"b", "^a", "c$", "^$", "[a-c]+", "(a)(b)?", "ä|日", "\\.", "x*"}) {
      add(fmt::format("regexp_matches(t1, '{}')", pattern), call(Function::regexp_matches, {col("t1"), text(pattern)}));
      for (auto const* const replacement : {"", "<\\0>", "-"}) {
        add(fmt::format("regexp_replace(t1, '{}', '{}')", pattern, replacement),
            call(Function::regexp_replace, {col("t1"), text(pattern), text(replacement)}));
        add(fmt::format("regexp_replace(t1, '{}', '{}', 'g')", pattern, replacement),
            call(Function::regexp_replace_all, {col("t1"), text(pattern), text(replacement)}));
      }
    }
    add("regexp_replace(t1, '^https?://(?:www\\.)?([^/]+)/.*$', '\\1')",
        call(Function::regexp_replace, {col("t1"), text("^https?://(?:www\\.)?([^/]+)/.*$"), text("\\1")}));
  }

  void add_choices() {
    for (auto const* const name : {"b", "i", "l", "d", "f", "p", "w", "t", "c", "z", "k"}) {
      auto const a = std::string(name) + "1";
      auto const b = std::string(name) + "2";
      add(fmt::format("coalesce({}, {})", a, b), call(Function::coalesce, {col(a), col(b)}));
      add(fmt::format("case when b1 then {} else {} end", a, b), call(Function::select, {col("b1"), col(a), col(b)}));
      if (*name == 'd') continue;  // of 0.0 and -0.0 either may be given
      add(fmt::format("least({}, {})", a, b), call(Function::least, {col(a), col(b)}));
      add(fmt::format("greatest({}, {})", a, b), call(Function::greatest, {col(a), col(b)}));
    }
    add("coalesce(i1, i2, 5)",
        call(Function::coalesce, {col("i1"), col("i2"), value_of(constant(std::int64_t{5}, {TypeId::int32}))}));
    auto const add_in = [&](std::string const& name, std::vector<std::pair<std::string, Scalar>> const& constants) {
      std::vector<Expression> arguments{col(name)};
      std::string list;
      for (auto const& [sql, value] : constants) {
        arguments.push_back(value_of(constant(value, col(name).type)));
        list += (list.empty() ? "" : ", ") + sql;
      }
      add(fmt::format("{} in ({})", name, list), call(Function::in, std::move(arguments)));
    };
    add_in("i1", {{"1", std::int64_t{1}}, {"-7", std::int64_t{-7}}, {"3", std::int64_t{3}}});
    add_in("i1", {{"1", std::int64_t{1}}, {"null", {}}});
    add_in("i1", {{"null", {}}});
    add_in(
        "d1",
        {{"'nan'::double", std::numeric_limits<double>::quiet_NaN()}, {"0.0::double", 0.0}, {"1e300::double", 1e300}});
    add_in("t1", {{"'abc'", "abc"}, {"''", ""}, {"'ä'", "ä"}});
    add_in("p1", {{"0.05", Int128{5}}, {"-1.50", Int128{-150}}});
    std::vector<std::pair<std::string, Scalar>> many;
    for (std::int64_t i = -20; i < 20; ++i) many.emplace_back(std::to_string(i * 5), i * 5);
    add_in("i1", many);
    add_in("l1", many);
  }

  void add_times() {
    for (auto const* const name : {"c1", "z1", "k1"}) {
      std::pair<std::string, TimeField> const fields[] = {
          {"year", TimeField::year},       {"isoyear", TimeField::iso_year}, {"quarter", TimeField::quarter},
          {"month", TimeField::month},     {"week", TimeField::week},        {"day", TimeField::day},
          {"doy", TimeField::day_of_year}, {"dow", TimeField::day_of_week},  {"isodow", TimeField::iso_day_of_week},
          {"hour", TimeField::hour},       {"minute", TimeField::minute},    {"second", TimeField::second},
          {"ms", TimeField::millisecond},  {"us", TimeField::microsecond},   {"epoch", TimeField::epoch}};
      for (auto const& [part, field] : fields) {
        if (*name == 'k' && field < TimeField::hour) continue;
        add(fmt::format("extract({} from {})", part, name), extract(field, col(name)));
        bool const is_unit = field != TimeField::iso_year && field != TimeField::day_of_year &&
                             field != TimeField::day_of_week && field != TimeField::iso_day_of_week &&
                             field != TimeField::epoch;
        if (is_unit && *name == 'z')
          add(fmt::format("date_trunc('{}', {})", part, name), truncate(field, col(name), OnFailure::null));
        if (is_unit && *name == 'c' && field < TimeField::hour)
          add(fmt::format("date_trunc('{}', {})::date", part, name), truncate(field, col(name), OnFailure::null));
      }
    }
    for (auto const months : {0, 1, -1, 11, 12, -13, 1'200})
      for (auto const days : {0, 1, -40}) {
        add_call(fmt::format("z1 + interval '{} months {} days 1500001 microseconds'", months, days),
                 Function::add_interval, {col("z1"), whole(months), whole(days), whole(1'500'001)});
        add_call(fmt::format("(c1 + interval '{} months {} days')::date", months, days), Function::add_interval,
                 {col("c1"), whole(months), whole(days), whole(0)});
      }
    add_cast("z1", "date", {TypeId::date32});
    add_cast("z1", "time", timed(TypeId::time64, TimeUnit::microsecond));
    add_cast("c1", "timestamp", timed(TypeId::timestamp, TimeUnit::microsecond));
  }

  void add_number_casts() {
    std::pair<std::string, DataType> const integers[] = {{"tinyint", {TypeId::int8}},    {"smallint", {TypeId::int16}},
                                                         {"integer", {TypeId::int32}},   {"bigint", bigint_type},
                                                         {"uinteger", {TypeId::uint32}}, {"ubigint", {TypeId::uint64}}};
    for (auto const& [sql_type, type] : integers) {
      for (auto const* const name : {"i1", "l1", "s1", "u1", "b1", "n1"})
        if (*name != 'n' || sql_type == "integer" || sql_type == "bigint") continue_cast(name, sql_type, type);
      // DuckDB rounds.
      add(fmt::format("try_cast(trunc(d1) as {})", sql_type), cast(col("d1"), type, OnFailure::null));
      add(fmt::format("try_cast(trunc(q1) as {})", sql_type), cast(col("q1"), type, OnFailure::null));
    }
    for (auto const* const name : {"i1", "l1", "u1", "p1", "q1", "f1", "d1"}) {
      add_cast(name, "double", double_type);
      if (*name != 'd') add_cast(name, "float", {TypeId::float32});
      if (*name != 'f' && *name != 'd') add_cast(name, "boolean", {TypeId::boolean});
    }
    for (auto const* const name : {"i1", "l1", "b1"}) {
      add_cast(name, "decimal(9, 2)", typed(TypeId::decimal128, 9, 2));
      add_cast(name, "decimal(38, 10)", typed(TypeId::decimal128, 38, 10));
    }
    add_cast("d1", "decimal(18, 3)", typed(TypeId::decimal128, 18, 3));
  }
  void continue_cast(std::string const& name, std::string const& sql_type, DataType const& type) {
    if (name != "n1") return add_cast(name, sql_type, type);
    // DuckDB also takes numbers with a fraction or an exponent, which are no integers here.
    add(fmt::format("case when regexp_full_match(trim(n1), '[+-]?[0-9]+') then try_cast(n1 as {}) end", sql_type),
        cast(col("n1"), type, OnFailure::null));
  }

  void add_text_casts() {
    for (auto const* const name : {"b1", "i1", "l1", "u1", "d1", "f1", "p1", "q1", "w1", "k1"})
      add(fmt::format("{}::varchar", name), cast(col(name), varchar_type));
    // Years before 1 and beyond 9999 are written otherwise.
    for (auto const* const name : {"c1", "z1"})
      add(fmt::format("case when year({0}) between 1 and 9999 then {0}::varchar end", name),
          call(Function::select,
               {value_of(call(Function::all, {value_of(compare(value_of(extract(TimeField::year, col(name))),
                                                               Comparator::greater_equal, whole(1))),
                                              value_of(compare(value_of(extract(TimeField::year, col(name))),
                                                               Comparator::less_equal, whole(9'999)))})),
                value_of(cast(col(name), varchar_type)), value_of(constant({}, varchar_type))}));
    add_cast("n1", "double", double_type);
    add_cast("n1", "float", {TypeId::float32});
    add_cast("n1", "decimal(18, 2)", typed(TypeId::decimal128, 18, 2));
    add_cast("n1", "decimal(38, 4)", typed(TypeId::decimal128, 38, 4));
    add_cast("n1", "boolean", {TypeId::boolean});
    add("case when length(m1) <= 10 then try_cast(m1 as date) end", cast(col("m1"), {TypeId::date32}, OnFailure::null));
    add_cast("m1", "timestamp", timed(TypeId::timestamp, TimeUnit::microsecond));
    add("case when length(m1) between 8 and 10 and m1 not like '%-%' then try_cast(m1 as time) end",
        cast(col("m1"), timed(TypeId::time64, TimeUnit::microsecond), OnFailure::null));
  }

  std::vector<ValueColumn> const& columns_;
  std::vector<ValueCase> cases_;
};

}  // namespace

std::vector<ValueCase> value_cases(std::vector<ValueColumn> const& columns) { return Cases(columns).run(); }

}  // namespace garuda::expr
