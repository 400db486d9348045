#include "keys/codes/key_types.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace garuda::keys {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

DataType type_of(TypeId id, std::int32_t precision = 0, std::int32_t scale = 0) {
  DataType type{id};
  type.precision = precision;
  type.scale = scale;
  return type;
}

/// The name of the common type, or the error's message.
std::string common(DataType const& left, DataType const& right) {
  auto const type = common_key_type({"a", left, true}, {"b", right, true});
  if (type) return to_string(type->result);
  EXPECT_EQ(type.error().code(), ErrorCode::invalid_input);
  return type.error().message();
}

TEST(CommonKeyType, IntegersWidenWhenNoValueIsLost) {
  EXPECT_EQ(common(type_of(TypeId::int8), type_of(TypeId::int64)), "int64");
  EXPECT_EQ(common(type_of(TypeId::uint32), type_of(TypeId::uint16)), "uint32");
  EXPECT_EQ(common(type_of(TypeId::uint32), type_of(TypeId::int64)), "int64");
  EXPECT_EQ(common(type_of(TypeId::int16), type_of(TypeId::uint8)), "int16");
  EXPECT_EQ(common(type_of(TypeId::uint64), type_of(TypeId::uint64)), "uint64");
}

TEST(CommonKeyType, IntegersOfBothSignsMeetInALargerOne) {
  EXPECT_EQ(common(type_of(TypeId::int8), type_of(TypeId::uint8)), "int16");
  EXPECT_EQ(common(type_of(TypeId::uint32), type_of(TypeId::int32)), "int64");
}

TEST(CommonKeyType, DecimalsHoldAllDigitsOfBoth) {
  auto const decimal = [](TypeId id, std::int32_t precision, std::int32_t scale) {
    return type_of(id, precision, scale);
  };
  EXPECT_EQ(common(decimal(TypeId::decimal64, 12, 2), decimal(TypeId::decimal128, 10, 2)), "decimal128(12, 2)");
  EXPECT_EQ(common(decimal(TypeId::decimal64, 12, 2), decimal(TypeId::decimal64, 12, 3)), "decimal64(13, 3)");
  EXPECT_EQ(common(decimal(TypeId::decimal32, 9, 2), type_of(TypeId::int32)), "decimal64(12, 2)");
  EXPECT_EQ(common(decimal(TypeId::decimal128, 38, 10), type_of(TypeId::uint64)), "decimal128(38, 10)");
  EXPECT_EQ(common(decimal(TypeId::decimal128, 38, 0), decimal(TypeId::decimal128, 38, 20)), "decimal256(58, 20)");
  EXPECT_THAT(common(decimal(TypeId::decimal256, 76, 0), decimal(TypeId::decimal128, 38, 20)), HasSubstr("differ"));
}

TEST(CommonKeyType, FloatsHoldWhatTheyCan) {
  EXPECT_EQ(common(type_of(TypeId::float16), type_of(TypeId::float64)), "float64");
  EXPECT_EQ(common(type_of(TypeId::float16), type_of(TypeId::int8)), "float32");
  EXPECT_EQ(common(type_of(TypeId::int16), type_of(TypeId::float32)), "float32");
  EXPECT_EQ(common(type_of(TypeId::uint32), type_of(TypeId::float32)), "float64");
}

DataType timed(TypeId id, TimeUnit unit, std::string zone = "") {
  DataType type{id};
  type.unit = unit;
  type.timezone = std::move(zone);
  return type;
}

TEST(CommonKeyType, TimesOfTheFinerUnit) {
  auto const second = TimeUnit::second;
  auto const nano = TimeUnit::nanosecond;
  EXPECT_EQ(common(type_of(TypeId::date32), type_of(TypeId::date64)), "date64");
  EXPECT_EQ(common(timed(TypeId::time32, second), timed(TypeId::time64, nano)), "time64[ns]");
  EXPECT_EQ(common(timed(TypeId::duration, second), timed(TypeId::duration, nano)), "duration[ns]");
  EXPECT_EQ(common(timed(TypeId::timestamp, second), timed(TypeId::timestamp, nano)), "timestamp[ns]");
  EXPECT_EQ(common(timed(TypeId::timestamp, second, "Asia/Tokyo"), timed(TypeId::timestamp, nano, "UTC")),
            "timestamp[ns, tz=UTC]");
  EXPECT_EQ(common(timed(TypeId::timestamp, nano, "Asia/Tokyo"), timed(TypeId::timestamp, nano, "Asia/Tokyo")),
            "timestamp[ns, tz=Asia/Tokyo]");
}

DataType dictionary_of(DataType value) {
  DataType type{TypeId::dictionary};
  type.value = std::make_shared<DataType const>(std::move(value));
  return type;
}

TEST(CommonKeyType, StringsBinaryAndDictionaries) {
  auto fixed = type_of(TypeId::fixed_size_binary);
  fixed.fixed_byte_width = 3;
  EXPECT_EQ(common(type_of(TypeId::utf8), type_of(TypeId::utf8)), "utf8");
  EXPECT_EQ(common(type_of(TypeId::utf8), type_of(TypeId::utf8_view)), "large_utf8");
  EXPECT_EQ(common(fixed, type_of(TypeId::binary)), "large_binary");
  EXPECT_EQ(common(dictionary_of(type_of(TypeId::utf8)), dictionary_of(type_of(TypeId::utf8))), "large_utf8");
  EXPECT_EQ(common(dictionary_of(type_of(TypeId::int8)), type_of(TypeId::int32)), "int32");
}

TEST(CommonKeyType, OthersAreRefusedByName) {
  auto const seconds = timed(TypeId::timestamp, TimeUnit::second);
  auto const zoned = timed(TypeId::timestamp, TimeUnit::second, "UTC");
  std::vector<std::pair<DataType, DataType>> const differing{
      {type_of(TypeId::int64), type_of(TypeId::uint64)},
      {type_of(TypeId::int32), type_of(TypeId::date32)},
      {type_of(TypeId::int64), type_of(TypeId::float64)},
      {type_of(TypeId::decimal64, 9, 2), type_of(TypeId::float64)},
      {type_of(TypeId::boolean), type_of(TypeId::uint8)},
      {type_of(TypeId::utf8), type_of(TypeId::binary)},
      {type_of(TypeId::date32), seconds},
      {timed(TypeId::duration, TimeUnit::second), seconds},
      {dictionary_of(type_of(TypeId::utf8)), seconds},
      {seconds, zoned}};
  for (auto const& [left, right] : differing)
    for (auto const& message : {common(left, right), common(right, left)})
      EXPECT_THAT(message,
                  AllOf(HasSubstr("'a'"), HasSubstr("'b'"), HasSubstr(to_string(left)), HasSubstr(to_string(right))));
  for (auto const id : {TypeId::interval_months, TypeId::interval_month_day_nano, TypeId::nested}) {
    EXPECT_THAT(common(type_of(id), type_of(id)), AllOf(HasSubstr("'a'"), HasSubstr(to_string(type_of(id)))));
    EXPECT_THAT(common(type_of(TypeId::int32), type_of(id)), AllOf(HasSubstr("'b'"), HasSubstr("join key")));
  }
}

}  // namespace
}  // namespace garuda::keys
