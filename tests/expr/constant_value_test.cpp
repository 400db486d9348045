// Constants among the values of a type: at one, between two, below all, or of another form.
#include "expr/constant_value.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "expr/condition_columns.hpp"
#include "tests/reference/data_types.hpp"

namespace garuda::expr {
namespace {

using reference::timed;
using reference::typed;

using Form = Constant::Form;
using keys::Place;

/// "at 5", "above 5", "below", or "none".
template <class T>
std::string place(DataType const& type, std::string const& text, Form form) {
  auto const value = constant_value({form, text}, type);
  if (!value) return "none";
  if (value->place == Place::below) return "below";
  EXPECT_EQ(value->bytes.size(), sizeof(T));
  T number{};
  std::memcpy(&number, value->bytes.data(), sizeof(T));
  return (value->place == Place::at ? "at " : "above ") + std::to_string(number);
}
template <class T>
std::string number(DataType const& type, std::string const& text) {
  return place<T>(type, text, Form::number);
}
template <class T>
std::string quoted(DataType const& type, std::string const& text) {
  return place<T>(type, text, Form::text);
}

TEST(ConstantValue, IntegersAreExact) {
  auto const int8 = typed(TypeId::int8);
  EXPECT_EQ(number<std::int8_t>(int8, "5"), "at 5");
  EXPECT_EQ(number<std::int8_t>(int8, "-128"), "at -128");
  EXPECT_EQ(number<std::int8_t>(int8, "-128.5"), "below");
  EXPECT_EQ(number<std::int8_t>(int8, "-129"), "below");
  EXPECT_EQ(number<std::int8_t>(int8, "127"), "at 127");
  EXPECT_EQ(number<std::int8_t>(int8, "127.000000000000000000000001"), "above 127");
  EXPECT_EQ(number<std::int8_t>(int8, "1000"), "above 127");
  EXPECT_EQ(number<std::int8_t>(int8, "1e999999999999"), "above 127");
  EXPECT_EQ(number<std::int8_t>(int8, "-1e999999999999"), "below");
  EXPECT_EQ(number<std::int8_t>(int8, "1e-999999999999"), "above 0");
  EXPECT_EQ(number<std::int8_t>(int8, "-1e-5"), "above -1");
  EXPECT_EQ(number<std::int8_t>(int8, "0e999999999999"), "at 0");
  EXPECT_EQ(number<std::int8_t>(int8, "-0.0"), "at 0");
  EXPECT_EQ(number<std::int8_t>(int8, "3.50"), "above 3");
  EXPECT_EQ(number<std::int8_t>(int8, "-3.5"), "above -4");
  EXPECT_EQ(number<std::int8_t>(int8, "0.12e2"), "at 12");
  EXPECT_EQ(quoted<std::int8_t>(int8, "12"), "at 12");
  EXPECT_EQ(quoted<std::int8_t>(int8, "x"), "none");
  EXPECT_EQ(quoted<std::int8_t>(int8, ""), "none");
  EXPECT_EQ(place<std::int8_t>(int8, "true", Form::boolean), "none");
  auto const uint64 = typed(TypeId::uint64);
  EXPECT_EQ(number<std::uint64_t>(uint64, "18446744073709551615"), "at 18446744073709551615");
  EXPECT_EQ(number<std::uint64_t>(uint64, "18446744073709551615.5"), "above 18446744073709551615");
  EXPECT_EQ(number<std::uint64_t>(uint64, "18446744073709551616"), "above 18446744073709551615");
  EXPECT_EQ(number<std::uint64_t>(uint64, "-0.5"), "below");
  EXPECT_EQ(number<std::uint64_t>(uint64, "-0"), "at 0");
  auto const int64 = typed(TypeId::int64);
  EXPECT_EQ(number<std::int64_t>(int64, "-9223372036854775808"), "at -9223372036854775808");
  EXPECT_EQ(number<std::int64_t>(int64, "-9223372036854775807.5"), "above -9223372036854775808");
  EXPECT_EQ(number<std::int64_t>(int64, "-9223372036854775809"), "below");
}

TEST(ConstantValue, DecimalsAreScaled) {
  auto const type = typed(TypeId::decimal64, 18, 2);
  EXPECT_EQ(number<std::int64_t>(type, "3.5"), "at 350");
  EXPECT_EQ(number<std::int64_t>(type, "-3.555"), "above -356");
  EXPECT_EQ(number<std::int64_t>(type, "1e20"), "above 9223372036854775807");
  EXPECT_EQ(number<std::int64_t>(typed(TypeId::decimal64, 18, -2), "350"), "above 3");
  auto const widest = constant_value({Form::number, "-1" + std::string(76, '0')}, typed(TypeId::decimal256, 76, 0));
  ASSERT_TRUE(widest);
  EXPECT_EQ(widest->place, Place::at);
  EXPECT_EQ(constant_value({Form::number, "1" + std::string(77, '0')}, typed(TypeId::decimal256, 76, 0))->place,
            Place::above);
}

TEST(ConstantValue, FloatsAreTheNearest) {
  auto const value = [](std::string const& text, TypeId id) { return constant_value({Form::number, text}, typed(id)); };
  auto const expect = [&](std::string const& text, TypeId id, auto number, Place where = Place::at) {
    auto const found = value(text, id);
    ASSERT_TRUE(found) << text;
    decltype(number) actual;
    ASSERT_EQ(found->bytes.size(), sizeof(actual)) << text;
    std::memcpy(&actual, found->bytes.data(), sizeof(actual));
    EXPECT_EQ(actual, number) << text;
    EXPECT_EQ(found->place, where) << text;
  };
  constexpr auto kInfinity = std::numeric_limits<double>::infinity();
  expect("0.1", TypeId::float64, 0.1);
  expect("0.1", TypeId::float32, 0.1F);
  expect("+5", TypeId::float64, 5.0);
  expect("inf", TypeId::float64, kInfinity);
  expect("-inf", TypeId::float64, -kInfinity);
  expect("1e400", TypeId::float64, std::numeric_limits<double>::max(), Place::above);
  expect("-1e400", TypeId::float64, -kInfinity, Place::above);
  expect("1e40", TypeId::float32, std::numeric_limits<float>::max(), Place::above);
  expect("1e-400", TypeId::float64, 0.0);
  expect("1.5", TypeId::float16, std::uint16_t{0x3E00});
  expect("65504", TypeId::float16, std::uint16_t{0x7BFF});
  expect("65519.9", TypeId::float16, std::uint16_t{0x7BFF});
  expect("65520", TypeId::float16, std::uint16_t{0x7BFF}, Place::above);
  expect("-65520", TypeId::float16, std::uint16_t{0xFC00}, Place::above);
  expect("-1e400", TypeId::float16, std::uint16_t{0xFC00}, Place::above);
  expect("inf", TypeId::float16, std::uint16_t{0x7C00});
  expect("nan", TypeId::float16, std::uint16_t{0x7E00});
  expect("5.9604644775390625e-8", TypeId::float16, std::uint16_t{0x0001});
  expect("-0.00006103515625", TypeId::float16, std::uint16_t{0x8400});
  expect("2049", TypeId::float16, std::uint16_t{0x6800});
  expect("4095.9", TypeId::float16, std::uint16_t{0x6C00});
  EXPECT_TRUE(value("nan", TypeId::float32));
  EXPECT_FALSE(value("1.5x", TypeId::float64));
  EXPECT_FALSE(value("", TypeId::float64));
}

TEST(ConstantValue, DatesAndTimes) {
  auto const date = typed(TypeId::date32);
  EXPECT_EQ(quoted<std::int32_t>(date, "1970-01-02"), "at 1");
  EXPECT_EQ(quoted<std::int32_t>(date, "1969-12-31"), "at -1");
  EXPECT_EQ(quoted<std::int32_t>(date, "2024-02-29"), "at 19782");
  EXPECT_EQ(quoted<std::int64_t>(typed(TypeId::date64), "1969-12-31"), "at -86400000");
  for (auto const* text : {"2023-02-29", "2024-13-01", "2024-1-1", "24-01-01", "2024-01-01x", "", "2024-01-01 00:00"})
    EXPECT_EQ(quoted<std::int32_t>(date, text), "none") << text;
  EXPECT_EQ(number<std::int32_t>(date, "5"), "none");

  auto const plain = timed(TypeId::timestamp, TimeUnit::millisecond);
  EXPECT_EQ(quoted<std::int64_t>(plain, "1970-01-01"), "at 0");
  EXPECT_EQ(quoted<std::int64_t>(plain, "1970-01-01T00:01"), "at 60000");
  EXPECT_EQ(quoted<std::int64_t>(plain, "1970-01-01 00:00:01.5"), "at 1500");
  EXPECT_EQ(quoted<std::int64_t>(plain, "1970-01-01 00:00:00.0015"), "above 1");
  EXPECT_EQ(quoted<std::int64_t>(plain, "1969-12-31 23:59:59.9995"), "above -1");
  EXPECT_EQ(quoted<std::int64_t>(plain, "1970-01-01 00:00:00.0000000001"), "above 0");
  EXPECT_EQ(quoted<std::int64_t>(plain, "1970-01-01 00:00Z"), "none");
  EXPECT_EQ(quoted<std::int64_t>(plain, "1970-01-01 24:00"), "none");
  EXPECT_EQ(quoted<std::int64_t>(plain, "1970-01-01 00:00:00."), "none");
  auto const nanoseconds = timed(TypeId::timestamp, TimeUnit::nanosecond);
  EXPECT_EQ(quoted<std::int64_t>(nanoseconds, "9999-12-31"), "above 9223372036854775807");
  EXPECT_EQ(quoted<std::int64_t>(nanoseconds, "0001-01-01"), "below");

  auto const zoned = timed(TypeId::timestamp, TimeUnit::second, "Europe/Berlin");
  EXPECT_EQ(quoted<std::int64_t>(zoned, "1970-01-01T01:00:00+01:00"), "at 0");
  EXPECT_EQ(quoted<std::int64_t>(zoned, "1970-01-01T00:00:00-01"), "at 3600");
  EXPECT_EQ(quoted<std::int64_t>(zoned, "1970-01-01T00:00Z"), "at 0");
  EXPECT_EQ(quoted<std::int64_t>(zoned, "1970-01-01"), "none");
  EXPECT_EQ(quoted<std::int64_t>(zoned, "1970-01-01T00:00:00"), "none");

  EXPECT_EQ(quoted<std::int32_t>(typed(TypeId::time32), "12:30"), "at 45000");
  EXPECT_EQ(quoted<std::int64_t>(timed(TypeId::time64, TimeUnit::nanosecond), "00:00:00.5"), "at 500000000");
  auto const duration = timed(TypeId::duration, TimeUnit::millisecond);
  EXPECT_EQ(quoted<std::int64_t>(duration, "1.5 s"), "at 1500");
  EXPECT_EQ(quoted<std::int64_t>(duration, "-1500us"), "above -2");
  EXPECT_EQ(quoted<std::int64_t>(duration, "1.5 m"), "none");
  EXPECT_EQ(quoted<std::int64_t>(duration, "s"), "none");
}

TEST(ConstantValue, BooleansAndBytes) {
  EXPECT_EQ(place<std::uint8_t>(typed(TypeId::boolean), "true", Form::boolean), "at 1");
  EXPECT_EQ(place<std::uint8_t>(typed(TypeId::boolean), "false", Form::text), "at 0");
  EXPECT_FALSE(constant_value({Form::number, "1"}, typed(TypeId::boolean)));
  EXPECT_EQ(constant_value({Form::text, "abc"}, typed(TypeId::utf8_view))->bytes.size(), 3U);
  EXPECT_FALSE(constant_value({Form::number, "1"}, typed(TypeId::utf8)));
}

TEST(ResolvedCondition, NotIsMovedIntoComparators) {
  Schema const schema{{"a", typed(TypeId::int32)}, {"b", typed(TypeId::int32)}};
  auto const condition =
      parse_condition("not (left.a < 3.5 or not (right.b = left.a and 7 > right.a) or left.b = null)").value();
  auto const resolved = resolve_condition(schema, schema, condition);
  ASSERT_TRUE(resolved) << resolved.error().describe();
  ASSERT_EQ(resolved->comparisons.size(), 4U);
  // 3.5 is above 3.
  EXPECT_EQ(resolved->comparisons[0].comparator, Comparator::greater);
  EXPECT_EQ(resolved->comparisons[1].comparator, Comparator::equal);
  EXPECT_EQ(resolved->comparisons[1].first.source, expr::WordOperand::Source::left);
  EXPECT_EQ(resolved->comparisons[2].comparator, Comparator::less);
  EXPECT_FALSE(resolved->comparisons[3].second);
  using Kind = expr::PairStep::Kind;
  std::vector<Kind> kinds;
  for (auto const& step : resolved->steps) kinds.push_back(step.kind);
  EXPECT_EQ(kinds, (std::vector{Kind::comparison, Kind::comparison, Kind::comparison, Kind::all, Kind::all,
                                Kind::comparison, Kind::all}));
}

TEST(ResolvedCondition, ColumnsOfOneTypeAreEncodedTogether) {
  Schema const schema{{"narrow", typed(TypeId::int16)},
                      {"single", typed(TypeId::float32)},
                      {"wide", typed(TypeId::int64)},
                      {"other", typed(TypeId::int64)},
                      {"text", typed(TypeId::utf8)}};
  auto const resolved = [&](std::string const& text) {
    return resolve_condition(schema, schema, parse_condition(text).value()).value();
  };
  EXPECT_EQ(resolved("left.narrow < right.wide and right.wide < left.other").encodings.size(), 1U);
  EXPECT_EQ(resolved("left.narrow < right.wide and left.other < right.other").encodings.size(), 2U);
  // No type holds all of a float32 and an int64, though both compare with an int16.
  auto const split = resolved("left.narrow < right.wide and left.narrow < right.single");
  EXPECT_EQ(split.encodings.size(), 2U);
  EXPECT_EQ(split.left.size(), 2U);
  auto const joined = resolved("left.narrow < right.wide and left.other <> right.other and right.other = left.narrow");
  EXPECT_EQ(joined.encodings.size(), 1U);
  EXPECT_FALSE(resolved("left.text = 'x'").encodings[0].compares_columns);
  EXPECT_FALSE(resolved("left.text <> right.text").encodings[0].compares_order);
}

TEST(ResolvedCondition, RefusesByName) {
  auto list = typed(TypeId::interval_months);
  Schema const left{{"id", typed(TypeId::int32)}, {"day", typed(TypeId::date32)}, {"span", list}};
  Schema const right{{"id", typed(TypeId::utf8)}};
  std::vector<std::pair<std::string, std::string>> const cases{
      {"left.it = 1", "left table: unknown column (nearest name: id): it"},
      {"right.day = 1", "right table: unknown column: day"},
      {"left.id = right.id", "columns 'left.id' and 'right.id' cannot be compared, their types differ: int32 and utf8"},
      {"left.id = 'x'", "column 'left.id' (int32) is compared with a number, as in -12.5: 'x'"},
      {"right.id = 5", "column 'right.id' (utf8) is compared with text in single quotes: 5"},
      {"5 < left.day", "column 'left.day' (date32) is compared with a date, as in '2024-02-29': 5"},
      {"left.span = null", "column 'left.span' cannot be compared, only integers"},
      {"1 = 1", "a comparison is of a column with a column or a constant: 1 = 1"},
  };
  for (auto const& [text, expected] : cases) {
    auto const resolved = resolve_condition(left, right, parse_condition(text).value());
    ASSERT_FALSE(resolved) << text;
    EXPECT_NE(resolved.error().message().find(expected), std::string::npos) << resolved.error().message();
  }
}

}  // namespace
}  // namespace garuda::expr
