// Dates and times of every unit against microseconds, and floats of 16 bits against floats of 32.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/numbers/half_float.hpp"
#include "core/type_rows.hpp"
#include "expr/evaluator.hpp"
#include "expr/program.hpp"
#include "tests/reference/data_types.hpp"
#include "tests/unwrap.hpp"

namespace garuda::expr {
namespace {

using reference::timed;
using testing::value_of;

DataType const micros_type = timed(TypeId::timestamp, TimeUnit::microsecond);
constexpr TimeUnit kUnits[] = {TimeUnit::second, TimeUnit::millisecond, TimeUnit::microsecond, TimeUnit::nanosecond};

/// The result of an expression over one value of an int64 column; nullopt: null.
template <class Result>
std::optional<Result> result_of(std::int64_t value, DataType const& type, Expression const& expression) {
  auto const program = value_of(compile(expression, {type}, Nulls::kept));
  Evaluator evaluator(program);
  auto const narrow = static_cast<std::int32_t>(value);
  bool const is_narrow = kind_of(type) == Kind::int32;
  evaluator.inputs()[0] = {*kind_of(type), false, is_narrow ? static_cast<void const*>(&narrow) : &value, nullptr};
  auto const result = value_of(evaluator.run(1));
  if (result.valid != nullptr && result.valid[0] == 0) return std::nullopt;
  if constexpr (std::is_same_v<Result, std::string>) return std::string(result.as<std::string_view>()[0]);
  if constexpr (std::is_same_v<Result, std::int64_t>)
    if (result.kind == Kind::int32) return result.as<std::int32_t>()[0];
  return Result(result.as<std::conditional_t<std::is_same_v<Result, std::string>, std::string_view, Result>>()[0]);
}

/// Whole seconds around the epoch, leap days, month ends and years before 1, within 292 years for nanoseconds.
std::vector<std::int64_t> seconds_of(TimeUnit unit) {
  std::vector<std::int64_t> seconds{
      0, -1, 1, 59, 86'399, 86'400, -86'401, 951'782'400, 1'709'164'799, 1'709'251'199, -2'208'988'801};
  if (unit != TimeUnit::nanosecond) seconds.insert(seconds.end(), {-62'135'596'801, -70'000'000'000, 253'402'300'799});
  return seconds;
}

TEST(Units, FieldsTruncationAndIntervalsAreThoseOfMicroseconds) {
  auto const months = value_of(constant(std::int64_t{-13}, {TypeId::int64}));
  auto const days = value_of(constant(std::int64_t{31}, {TypeId::int64}));
  auto const moments = value_of(constant(std::int64_t{3'000'000}, {TypeId::int64}));
  for (auto const unit : kUnits) {
    auto const type = timed(TypeId::timestamp, unit);
    auto const per_second = unit_row(unit).per_second;
    auto const from = column(0, type, "t");
    auto const micro = column(0, micros_type, "t");
    for (auto const second : seconds_of(unit)) {
      SCOPED_TRACE(to_string(type) + ", " + std::to_string(second));
      auto const value = second * per_second;
      auto const as_micro = second * 1'000'000;
      for (auto field = TimeField::year; field < TimeField::epoch;
           field = static_cast<TimeField>(static_cast<int>(field) + 1)) {
        EXPECT_EQ(result_of<std::int64_t>(value, type, value_of(extract(field, from))),
                  result_of<std::int64_t>(as_micro, micros_type, value_of(extract(field, micro))));
        auto const part = truncate(field, from, OnFailure::null);
        if (!part) continue;
        EXPECT_EQ(result_of<std::int64_t>(value, type, *part).value() / per_second,
                  result_of<std::int64_t>(as_micro, micros_type, value_of(truncate(field, micro))).value() / 1'000'000);
      }
      EXPECT_EQ(result_of<double>(value, type, value_of(extract(TimeField::epoch, from))), static_cast<double>(second));
      auto const moved = [&](Expression const& of) {
        return value_of(call(Function::add_interval, {of, months, days, moments}));
      };
      EXPECT_EQ(result_of<std::int64_t>(value, type, moved(from)).value() / per_second,
                result_of<std::int64_t>(as_micro, micros_type, moved(micro)).value() / 1'000'000);
      EXPECT_EQ(result_of<std::int64_t>(value, type, value_of(cast(from, micros_type))), as_micro);
      EXPECT_EQ(result_of<std::int64_t>(as_micro, micros_type, value_of(cast(micro, type))), value);
      EXPECT_EQ(result_of<std::string>(value, type, value_of(cast(from, {TypeId::utf8}))),
                result_of<std::string>(as_micro, micros_type, value_of(cast(micro, {TypeId::utf8}))));
    }
  }
}

TEST(Units, CastsCutToTheEarlierTime) {
  auto const cut = [](std::int64_t value, DataType const& from, DataType const& to) {
    return result_of<std::int64_t>(value, from, value_of(cast(column(0, from, "t"), to, OnFailure::null)));
  };
  auto const nanoseconds = timed(TypeId::timestamp, TimeUnit::nanosecond);
  auto const seconds = timed(TypeId::timestamp, TimeUnit::second);
  DataType const date{TypeId::date32};
  DataType const date_of_milliseconds{TypeId::date64};
  EXPECT_EQ(cut(1'999'999'999, nanoseconds, seconds), 1);
  EXPECT_EQ(cut(-1, nanoseconds, seconds), -1);
  EXPECT_EQ(cut(std::numeric_limits<std::int64_t>::max(), seconds, nanoseconds), std::nullopt);
  EXPECT_EQ(cut(std::numeric_limits<std::int64_t>::min(), seconds, date), std::nullopt);
  EXPECT_EQ(cut(-1, nanoseconds, date), -1);
  EXPECT_EQ(cut(-1, nanoseconds, date_of_milliseconds), -86'400'000);
  EXPECT_EQ(cut(3, date, date_of_milliseconds), 259'200'000);
  EXPECT_EQ(cut(259'200'000, date_of_milliseconds, date), 3);
  EXPECT_EQ(cut(-1, seconds, timed(TypeId::time32, TimeUnit::millisecond)), 86'399'000);
  EXPECT_EQ(cut(86'399, timed(TypeId::time32, TimeUnit::second), timed(TypeId::time64, TimeUnit::nanosecond)),
            86'399'000'000'000);
  EXPECT_EQ(cut(1'999, timed(TypeId::time32, TimeUnit::millisecond), timed(TypeId::time32, TimeUnit::second)), 1);
  EXPECT_EQ(cut(-1, timed(TypeId::duration, TimeUnit::millisecond), timed(TypeId::duration, TimeUnit::second)), -1);
  EXPECT_EQ(cut(5, timed(TypeId::duration, TimeUnit::second), {TypeId::int64}), 5);
}

TEST(Units, FieldsOfOtherZonesAreRefused) {
  auto const extracted = [](std::string zone) {
    auto const made =
        extract(TimeField::hour, column(0, timed(TypeId::timestamp, TimeUnit::second, std::move(zone)), "t"));
    return made ? std::string() : made.error().message();
  };
  EXPECT_EQ(extracted("UTC"), "");
  EXPECT_EQ(extracted("+00:00"), "");
  EXPECT_EQ(extracted("Europe/Berlin"), "'extract' does not take timestamp[s, tz=Europe/Berlin]");
}

TEST(Units, HalfFloatsAreReadAndRounded) {
  DataType const half{TypeId::float16};
  DataType const single{TypeId::float32};
  auto const widened = value_of(compile(value_of(cast(column(0, half, "h"), single)), {half}, Nulls::kept));
  auto const narrowed = value_of(compile(value_of(cast(column(0, single, "f"), half)), {single}, Nulls::kept));
  Evaluator widen(widened);
  Evaluator narrow(narrowed);
  for (std::uint32_t first = 0; first < 65'536; first += kVectorRows) {
    std::vector<float> values(kVectorRows);
    for (std::uint32_t i = 0; i < kVectorRows; ++i) values[i] = half_value(static_cast<std::uint16_t>(first + i));
    for (auto* const evaluator : {&widen, &narrow}) {
      evaluator->inputs()[0] = {Kind::float32, false, values.data(), nullptr};
      auto const result = value_of(evaluator->run(kVectorRows));
      for (std::size_t i = 0; i < kVectorRows; ++i) {
        auto const same = result.as<float>()[i];
        ASSERT_TRUE(std::isnan(values[i])
                        ? std::isnan(same)
                        : std::bit_cast<std::uint32_t>(same) == std::bit_cast<std::uint32_t>(values[i]))
            << first + i;
      }
    }
  }
  float const beyond[] = {65'519, 65'520, -1e9F, 1e-8F, 5.97e-8F};
  narrow.inputs()[0] = {Kind::float32, false, beyond, nullptr};
  auto const rounded = value_of(narrow.run(5));
  float const wanted[] = {65'504, INFINITY, -INFINITY, 0, 0x1p-24F};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(rounded.as<float>()[i], wanted[i]) << beyond[i];
}

}  // namespace
}  // namespace garuda::expr
