#include "garuda/types.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/arrow/arrow_format.hpp"

namespace garuda {
namespace {

using ::testing::HasSubstr;

struct TypeCase {
  std::string format;
  std::string text;
  std::int32_t width;
};

std::vector<TypeCase> const kTypes{
    {"b", "bool", 0},
    {"c", "int8", 1},
    {"C", "uint8", 1},
    {"s", "int16", 2},
    {"S", "uint16", 2},
    {"i", "int32", 4},
    {"I", "uint32", 4},
    {"l", "int64", 8},
    {"L", "uint64", 8},
    {"e", "float16", 2},
    {"f", "float32", 4},
    {"g", "float64", 8},
    {"d:9,2,32", "decimal32(9, 2)", 4},
    {"d:18,-3,64", "decimal64(18, -3)", 8},
    {"d:12,2", "decimal128(12, 2)", 16},
    {"tdD", "date32", 4},
    {"tdm", "date64", 8},
    {"tts", "time32[s]", 4},
    {"ttm", "time32[ms]", 4},
    {"ttu", "time64[us]", 8},
    {"ttn", "time64[ns]", 8},
    {"tss:", "timestamp[s]", 8},
    {"tsm:", "timestamp[ms]", 8},
    {"tsu:UTC", "timestamp[us, tz=UTC]", 8},
    {"tsn:Europe/Berlin", "timestamp[ns, tz=Europe/Berlin]", 8},
    {"tDs", "duration[s]", 8},
    {"tDm", "duration[ms]", 8},
    {"tDu", "duration[us]", 8},
    {"tDn", "duration[ns]", 8},
    {"tiM", "month_interval", 4},
    {"tiD", "day_time_interval", 8},
    {"tin", "month_day_nano_interval", 16},
    {"w:5", "fixed_size_binary[5]", 5},
    {"u", "utf8", 0},
    {"U", "large_utf8", 0},
    {"z", "binary", 0},
    {"Z", "large_binary", 0},
};

TEST(Types, FormatStringsRoundTrip) {
  for (auto const& expected : kTypes) {
    auto const type = parse_format(expected.format);
    ASSERT_TRUE(type) << expected.format << ": " << type.error().describe();
    EXPECT_EQ(to_string(*type), expected.text);
    EXPECT_EQ(byte_width(*type), expected.width) << expected.format;
    EXPECT_EQ(format_string(*type), expected.format);
  }
}

TEST(Types, AreEqualOnlyToThemselves) {
  for (auto const& a : kTypes) {
    for (auto const& b : kTypes) {
      EXPECT_EQ(*parse_format(a.format) == *parse_format(b.format), a.format == b.format)
          << a.format << " " << b.format;
    }
  }
}

TEST(Types, AcceptsAnExplicitWidthOf128Bits) { EXPECT_EQ(*parse_format("d:12,2,128"), *parse_format("d:12,2")); }

TEST(Types, DictionariesCompareTheirValues) {
  auto const dictionary_of = [](TypeId value) {
    return DataType{
        .id = TypeId::dictionary, .index = TypeId::uint8, .value = std::make_shared<DataType>(DataType{.id = value})};
  };
  EXPECT_EQ(dictionary_of(TypeId::utf8), dictionary_of(TypeId::utf8));
  EXPECT_FALSE(dictionary_of(TypeId::utf8) == dictionary_of(TypeId::binary));
  EXPECT_EQ(to_string(dictionary_of(TypeId::utf8)), "dictionary<uint8, utf8>");
  EXPECT_EQ(byte_width(dictionary_of(TypeId::utf8)), 1);
  EXPECT_EQ(format_string(dictionary_of(TypeId::utf8)), "C");
}

TEST(Types, RefusesWhatIsMalformedOrUnsupported) {
  std::vector<std::pair<std::string, std::string>> const cases{
      {"", "malformed Arrow format string: ''"},
      {"x", "malformed Arrow format string: 'x'"},
      {"ii", "malformed"},
      {"td", "malformed"},
      {"tdX", "malformed"},
      {"ttx", "malformed"},
      {"ts", "malformed"},
      {"tss", "malformed"},
      {"tsx:", "malformed"},
      {"tDx", "malformed"},
      {"tiX", "malformed"},
      {"w:", "malformed"},
      {"w:4x", "malformed"},
      {"w:99999999999", "malformed"},
      {"w:0", "fixed_size_binary width is below 1: 0"},
      {"w:-1", "fixed_size_binary width is below 1: -1"},
      {"d:", "malformed"},
      {"d:5", "malformed"},
      {"d:5,", "malformed"},
      {"d:5,2,", "malformed"},
      {"d:5,2,64,1", "malformed"},
      {"d:x,2", "malformed"},
      {"d:0,0", "decimal precision out of range [1, 38]: 0"},
      {"d:39,1", "decimal precision out of range [1, 38]: 39"},
      {"d:10,1,32", "decimal precision out of range [1, 9]: 10"},
      {"d:19,1,64", "decimal precision out of range [1, 18]: 19"},
      {"d:5,39", "decimal scale out of range [-38, 38]: 39"},
      {"d:5,-10,32", "decimal scale out of range [-9, 9]: -10"},
      {"d:5,2,7", "decimal width is none of 32, 64, 128 and 256 bits: 7"},
      {"d:77,2,256", "decimal precision out of range [1, 76]: 77"},
      {"+l", "malformed"},
      {"+x", "malformed"},
  };
  for (auto const& [format, message] : cases) {
    auto const type = parse_format(format);
    ASSERT_FALSE(type) << format;
    EXPECT_EQ(type.error().code(), ErrorCode::invalid_input);
    EXPECT_THAT(type.error().message(), HasSubstr(message)) << format;
  }
}

Schema schema_of(std::vector<std::string> const& names) {
  Schema schema;
  for (auto const& name : names) schema.push_back({name, DataType{.id = TypeId::int32}, true});
  return schema;
}

TEST(FindColumn, ReturnsThePosition) {
  auto const schema = schema_of({"a", "B", "b", ""});
  EXPECT_EQ(find_column(schema, "B").value(), 1U);
  EXPECT_EQ(find_column(schema, "b").value(), 2U);
  EXPECT_EQ(find_column(schema, "").value(), 3U);
}

TEST(FindColumn, SuggestsTheNearestName) {
  auto const schema = schema_of({"o_orderkey", "o_custkey", "O_TOTALPRICE"});
  auto const message = [&](std::string_view name) { return find_column(schema, name).error().message(); };
  EXPECT_EQ(message("o_cutkey"), "unknown column (nearest name: o_custkey): o_cutkey");
  EXPECT_THAT(message("o_totalprice"), HasSubstr("nearest name: O_TOTALPRICE"));
  EXPECT_THAT(message("O_ORDERKEY"), HasSubstr("nearest name: o_orderkey"));
  EXPECT_EQ(find_column(schema, "x").error().code(), ErrorCode::invalid_input);
}

TEST(FindColumn, SuggestsNothingFarOff) {
  auto const schema = schema_of({"o_orderkey", "o_custkey", "v", ""});
  for (auto const* name : {"x", "price", "l_partkey", "o_orderpriority", "customer"})
    EXPECT_EQ(find_column(schema, name).error().message(), std::string("unknown column: ") + name);
  EXPECT_THAT(find_column(schema, "v0").error().message(), HasSubstr("nearest name: v)"));
}

TEST(FindColumn, PrefersADifferenceInCaseToAnEdit) {
  EXPECT_THAT(find_column(schema_of({"KEYS", "kez"}), "keys").error().message(), HasSubstr("nearest name: KEYS"));
  EXPECT_THAT(find_column(schema_of({"KEY", "Key"}), "KEy").error().message(), HasSubstr("nearest name: KEY)"));
}

TEST(FindColumn, RefusesNamesThatAreNotUnique) {
  EXPECT_EQ(find_column(schema_of({"k", "v", "k"}), "k").error().message(), "2 columns share one name: k");
}

TEST(FindColumn, HandlesEmptySchemasAndLongNames) {
  EXPECT_EQ(find_column({}, "k").error().message(), "unknown column in a table that has none: k");
  auto const name = std::string(100'000, 'x');
  EXPECT_FALSE(find_column(schema_of({name + "y", name}), name + "z"));
}

}  // namespace
}  // namespace garuda
