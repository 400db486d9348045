#include "keys/codes/key_types.hpp"
#include "tests/reference/data_types.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace garuda::keys {
namespace {

using reference::dictionary_of;
using reference::timed;
using reference::typed;

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The name of the common type, or the error's message.
std::string common(DataType const& left, DataType const& right) {
  auto const type = common_key_type({"a", left, true}, {"b", right, true});
  if (type) return to_string(type->result);
  EXPECT_EQ(type.error().code(), ErrorCode::invalid_input);
  return type.error().message();
}

TEST(CommonKeyType, IntegersWidenWhenNoValueIsLost) {
  EXPECT_EQ(common(typed(TypeId::int8), typed(TypeId::int64)), "int64");
  EXPECT_EQ(common(typed(TypeId::uint32), typed(TypeId::uint16)), "uint32");
  EXPECT_EQ(common(typed(TypeId::uint32), typed(TypeId::int64)), "int64");
  EXPECT_EQ(common(typed(TypeId::int16), typed(TypeId::uint8)), "int16");
  EXPECT_EQ(common(typed(TypeId::uint64), typed(TypeId::uint64)), "uint64");
}

TEST(CommonKeyType, IntegersOfBothSignsMeetInALargerOne) {
  EXPECT_EQ(common(typed(TypeId::int8), typed(TypeId::uint8)), "int16");
  EXPECT_EQ(common(typed(TypeId::uint32), typed(TypeId::int32)), "int64");
}

TEST(CommonKeyType, DecimalsHoldAllDigitsOfBoth) {
  auto const decimal = [](TypeId id, std::int32_t precision, std::int32_t scale) {
    return typed(id, precision, scale);
  };
  EXPECT_EQ(common(decimal(TypeId::decimal64, 12, 2), decimal(TypeId::decimal128, 10, 2)), "decimal128(12, 2)");
  EXPECT_EQ(common(decimal(TypeId::decimal64, 12, 2), decimal(TypeId::decimal64, 12, 3)), "decimal64(13, 3)");
  EXPECT_EQ(common(decimal(TypeId::decimal32, 9, 2), typed(TypeId::int32)), "decimal64(12, 2)");
  EXPECT_EQ(common(decimal(TypeId::decimal128, 38, 10), typed(TypeId::uint64)), "decimal128(38, 10)");
  EXPECT_EQ(common(decimal(TypeId::decimal128, 38, 0), decimal(TypeId::decimal128, 38, 20)), "decimal256(58, 20)");
  EXPECT_THAT(common(decimal(TypeId::decimal256, 76, 0), decimal(TypeId::decimal128, 38, 20)), HasSubstr("differ"));
}

TEST(CommonKeyType, FloatsHoldWhatTheyCan) {
  EXPECT_EQ(common(typed(TypeId::float16), typed(TypeId::float64)), "float64");
  EXPECT_EQ(common(typed(TypeId::float16), typed(TypeId::int8)), "float32");
  EXPECT_EQ(common(typed(TypeId::int16), typed(TypeId::float32)), "float32");
  EXPECT_EQ(common(typed(TypeId::uint32), typed(TypeId::float32)), "float64");
}

TEST(CommonKeyType, TimesOfTheFinerUnit) {
  auto const second = TimeUnit::second;
  auto const nano = TimeUnit::nanosecond;
  EXPECT_EQ(common(typed(TypeId::date32), typed(TypeId::date64)), "date64");
  EXPECT_EQ(common(timed(TypeId::time32, second), timed(TypeId::time64, nano)), "time64[ns]");
  EXPECT_EQ(common(timed(TypeId::duration, second), timed(TypeId::duration, nano)), "duration[ns]");
  EXPECT_EQ(common(timed(TypeId::timestamp, second), timed(TypeId::timestamp, nano)), "timestamp[ns]");
  EXPECT_EQ(common(timed(TypeId::timestamp, second, "Asia/Tokyo"), timed(TypeId::timestamp, nano, "UTC")),
            "timestamp[ns, tz=UTC]");
  EXPECT_EQ(common(timed(TypeId::timestamp, nano, "Asia/Tokyo"), timed(TypeId::timestamp, nano, "Asia/Tokyo")),
            "timestamp[ns, tz=Asia/Tokyo]");
}

TEST(CommonKeyType, StringsBinaryAndDictionaries) {
  auto fixed = typed(TypeId::fixed_size_binary);
  fixed.fixed_byte_width = 3;
  EXPECT_EQ(common(typed(TypeId::utf8), typed(TypeId::utf8)), "utf8");
  EXPECT_EQ(common(typed(TypeId::utf8), typed(TypeId::utf8_view)), "large_utf8");
  EXPECT_EQ(common(fixed, typed(TypeId::binary)), "large_binary");
  EXPECT_EQ(common(dictionary_of(typed(TypeId::utf8)), dictionary_of(typed(TypeId::utf8))), "large_utf8");
  EXPECT_EQ(common(dictionary_of(typed(TypeId::int8)), typed(TypeId::int32)), "int32");
}

TEST(CommonKeyType, OthersAreRefusedByName) {
  auto const seconds = timed(TypeId::timestamp, TimeUnit::second);
  auto const zoned = timed(TypeId::timestamp, TimeUnit::second, "UTC");
  std::vector<std::pair<DataType, DataType>> const differing{{typed(TypeId::int64), typed(TypeId::uint64)},
                                                             {typed(TypeId::int32), typed(TypeId::date32)},
                                                             {typed(TypeId::int64), typed(TypeId::float64)},
                                                             {typed(TypeId::decimal64, 9, 2), typed(TypeId::float64)},
                                                             {typed(TypeId::boolean), typed(TypeId::uint8)},
                                                             {typed(TypeId::utf8), typed(TypeId::binary)},
                                                             {typed(TypeId::date32), seconds},
                                                             {timed(TypeId::duration, TimeUnit::second), seconds},
                                                             {dictionary_of(typed(TypeId::utf8)), seconds},
                                                             {seconds, zoned}};
  for (auto const& [left, right] : differing)
    for (auto const& message : {common(left, right), common(right, left)})
      EXPECT_THAT(message,
                  AllOf(HasSubstr("'a'"), HasSubstr("'b'"), HasSubstr(to_string(left)), HasSubstr(to_string(right))));
  for (auto const id : {TypeId::interval_months, TypeId::interval_month_day_nano, TypeId::nested}) {
    EXPECT_THAT(common(typed(id), typed(id)), AllOf(HasSubstr("'a'"), HasSubstr(to_string(typed(id)))));
    EXPECT_THAT(common(typed(TypeId::int32), typed(id)), AllOf(HasSubstr("'b'"), HasSubstr("join key")));
  }
}

}  // namespace
}  // namespace garuda::keys
