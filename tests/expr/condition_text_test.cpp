// Conditions as they are typed: what is read, what is printed, what is refused.
#include <gtest/gtest.h>

#ifndef _WIN32
#include <pthread.h>
#endif

#include <string>
#include <utility>
#include <vector>

#include "garuda/condition.hpp"

namespace garuda {
namespace {

using enum Comparator;

TEST(ConditionText, ReadsWhatBuildersMake) {
  auto const a = left_column("a");
  auto const b = right_column("b");
  auto const less_than = compare(a, less, b);
  std::vector<std::pair<std::string, Condition>> const cases{
      {"left.a<right.b", less_than},
      {"  ( ( LEFT.a < Right.b ) ) ", less_than},
      {"left.a = 5", compare(a, equal, constant(5))},
      {"left.a <> -5.25e-3", compare(a, not_equal, Constant{Constant::Form::number, "-5.25e-3"})},
      {".5 >= left.a", compare(Constant{Constant::Form::number, ".5"}, greater_equal, a)},
      {"left.a > 'it''s'", compare(a, greater, constant("it's"))},
      {"left.a <= ''", compare(a, less_equal, constant(""))},
      {"left.a = TRUE", compare(a, equal, constant(true))},
      {"left.a = Null", compare(a, equal, null_constant())},
      {"left.a.b$_1 = 1", compare(left_column("a.b$_1"), equal, constant(1))},
      {R"(right.\ \=\\x = 1)", compare(right_column(R"( =\x)"), equal, constant(1))},
      {R"-(right."a ""b"" (c)" = 1)-", compare(right_column(R"-(a "b" (c))-"), equal, constant(1))},
      {"left.größe = 1", compare(left_column("größe"), equal, constant(1))},
      {"not left.a < right.b", !less_than},
      {"not not left.a < right.b and left.a = 5", !!less_than && compare(a, equal, constant(5))},
      {"left.a = 1 or left.a = 2 and left.a = 3",
       compare(a, equal, constant(1)) || (compare(a, equal, constant(2)) && compare(a, equal, constant(3)))},
      {"(left.a = 1 or left.a = 2) And left.a = 3",
       (compare(a, equal, constant(1)) || compare(a, equal, constant(2))) && compare(a, equal, constant(3))},
  };
  for (auto const& [text, expected] : cases) {
    auto const read = parse_condition(text);
    ASSERT_TRUE(read) << text << ": " << read.error().describe();
    EXPECT_EQ(*read, expected) << text;
    auto const again = parse_condition(to_string(*read));
    ASSERT_TRUE(again) << to_string(*read) << ": " << again.error().describe();
    EXPECT_EQ(*again, expected) << to_string(*read);
  }
}

TEST(ConditionText, PrintsAsFewParenthesesAsItNeeds) {
  for (std::string const text : {"left.a < right.b and (right.c <> 'x' or not left.d >= 3.5)",
                                 "not (left.a = 1 and left.b = 2) or left.c = null", R"(left."a b" = 'it''s')"})
    EXPECT_EQ(to_string(parse_condition(text).value()), text);
  EXPECT_EQ(to_string(compare(left_column("a"), less, constant(0.1))), "left.a < 0.1");
  EXPECT_EQ(to_string(compare(left_column("a"), less, constant(-1.0 / 0.0))), "left.a < '-inf'");
}

TEST(ConditionText, RefusesWithPositionAndWhatIsAllowed) {
  std::vector<std::pair<std::string, std::string>> const cases{
      {"", "left.NAME, right.NAME, a number, 'text', true, false or null, ( or not at position 1: its end"},
      {"left.a", "one of =, <>, <, <=, >, >= at position 7: its end"},
      {"left.a == 1", "one of =, <>, <, <=, >, >= at position 8: =="},
      {"left.a ! 1", "one of =, <>, <, <=, >, >= at position 8: !"},
      {"left.a < b", "at position 10: b"},
      {"a < left.b", "at position 1: a"},
      {"left. < 1", "left.NAME or right.NAME at position 1: left."},
      {"left.\"\" < 1", "left.NAME or right.NAME at position 1: left.\"\""},
      {"left.\"a < 1", "a double quote behind the name at position 6: \"a < 1"},
      {"left.a = 'x", "a quote behind the text at position 10: 'x"},
      {"left.a = 1 left.b = 2", "and, or or its end at position 12: left.b"},
      {"(left.a = 1", "and, or or ) at position 12: its end"},
      {"left.a = 1)", "and, or or its end at position 11: )"},
      {"left.a = 1.2.3", "a number, as in -12.5 at position 10: 1.2.3"},
      {"left.a = 12abc", "a number, as in -12.5 at position 10: 12abc"},
      {"left.a = -", "a number, as in -12.5 at position 10: -"},
      {"left.a = 1 and", "at position 15: its end"},
      {"left.a = 1 and or left.a = 2", "at position 16: or"},
      {"left.a < 1; drop", "at position 11: ;"},
      {"left.a\\", "a character of a name behind a backslash at position 7"},
  };
  for (auto const& [text, expected] : cases) {
    auto const read = parse_condition(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code(), ErrorCode::usage);
    EXPECT_NE(read.error().message().find(expected), std::string::npos) << text << ": " << read.error().message();
  }
}

TEST(ConditionText, NestingIsBounded) {
  std::string const inner = "left.a = 1";
  EXPECT_TRUE(parse_condition(std::string(200, '(') + inner + std::string(200, ')')));
  for (auto const& text : {std::string(100'000, '('), std::string(201, '(') + inner + std::string(201, ')')}) {
    auto const read = parse_condition(text);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message(),
              "a condition has at most 200 levels of parentheses and not: more at position 202");
  }
}

#ifndef _WIN32
/// Threads of some systems have little of it.
TEST(ConditionText, NestingTakesNoStack) {
  constexpr std::size_t kStackBytes = std::size_t{192} << 10;
  auto const read = [](void* done) -> void* {
    auto const condition = parse_condition(std::string(150, '(') + "left.a = 1" + std::string(150, ')'));
    *static_cast<bool*>(done) = condition.has_value();
    return nullptr;
  };
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStackBytes), 0);
  pthread_t thread{};
  bool done = false;
  ASSERT_EQ(pthread_create(&thread, &attributes, read, &done), 0);
  EXPECT_EQ(pthread_join(thread, nullptr), 0);
  EXPECT_TRUE(done);
  pthread_attr_destroy(&attributes);
}
#endif

TEST(ConditionText, ColumnsAreNamedOnceAndChangeSides) {
  auto const condition = parse_condition("left.a < right.a and not (left.a = 1 or right.b = left.c)").value();
  EXPECT_EQ(columns_of(condition, Side::left), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(columns_of(condition, Side::right), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(to_string(with_sides_swapped(condition)), "right.a < left.a and not (right.a = 1 or left.b = right.c)");
}

TEST(ConditionText, ColumnsAlone) {
  EXPECT_EQ(parse_column_ref("left.a.b").value(), (ColumnRef{Side::left, "a.b"}));
  EXPECT_EQ(parse_column_ref(R"(right.a\,b)").value(), (ColumnRef{Side::right, "a,b"}));
  for (auto const* text : {"a", "left.", "up.a", ""}) {
    auto const read = parse_column_ref(text);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message(), std::string("a column is left.NAME or right.NAME: '") + text + "'");
  }
}

}  // namespace
}  // namespace garuda
