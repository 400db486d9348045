// The choice of columns that Parquet holds as differences.
#include "io/parquet/parquet_file.hpp"

#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <random>

namespace garuda::io {
namespace {

constexpr std::int64_t kSampledRows = 10'000;

std::shared_ptr<arrow::Array> integers(std::function<std::int64_t(std::int64_t)> const& value_of, int null_every = 0) {
  arrow::Int64Builder builder;
  for (std::int64_t i = 0; i < kSampledRows; ++i)
    EXPECT_TRUE((null_every > 0 && i % null_every == 0 ? builder.AppendNull() : builder.Append(value_of(i))).ok());
  return builder.Finish().ValueOrDie();
}

bool packs(std::shared_ptr<arrow::Array> const& values) { return packs_well(arrow::ChunkedArray(values)); }

bool packs_as(arrow::Array const& values, std::shared_ptr<arrow::DataType> const& type) {
  return packs(arrow::compute::Cast(values, type).ValueOrDie());
}

/// Integers as decimals of `digits` digits.
std::shared_ptr<arrow::Array> decimals(arrow::Array const& values, int digits) {
  auto const short_ones = values.View(arrow::decimal64(std::min(digits, 18), 0)).ValueOrDie();
  return arrow::compute::Cast(*short_ones, arrow::decimal128(digits, 0)).ValueOrDie();
}

std::int64_t random_bits(int bits) {
  static std::mt19937_64 random(5);
  return static_cast<std::int64_t>(random() >> (64 - bits));
}

TEST(ColumnSample, PacksWhatTakesHalfOfItsBits) {
  EXPECT_TRUE(packs(integers([](auto i) { return i; })));
  EXPECT_TRUE(packs(integers([](auto i) { return (std::int64_t{1} << 60) - 1'000'000 * i; }))) << "far from zero";
  EXPECT_TRUE(packs(integers([](auto) { return random_bits(30); })));
  EXPECT_FALSE(packs(integers([](auto) { return random_bits(33); })));
  EXPECT_FALSE(packs(integers([](auto) { return random_bits(64); })));
  auto const ends = integers([](auto i) {
    return i % 2 == 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
  });
  EXPECT_TRUE(packs(ends)) << "modulo 2^64 its differences are 1 and -1";
  EXPECT_TRUE(packs(integers([](auto) { return random_bits(20) - (1 << 19); }, 3)));
}

/// Nulls are not stored; what lies in their places does not count.
TEST(ColumnSample, LooksAtNoNulls) {
  EXPECT_TRUE(packs(integers([](auto i) { return (std::int64_t{1} << 60) + i; }, 2)));
  EXPECT_TRUE(packs(arrow::MakeArrayOfNull(arrow::int64(), kSampledRows).ValueOrDie()));
  EXPECT_TRUE(packs(integers([](auto) { return 1; })->Slice(0, 0)));
}

TEST(ColumnSample, KnowsWhatIsStoredAsIntegers) {
  auto const few = integers([](auto) { return random_bits(14); });
  auto const some = integers([](auto) { return random_bits(20); });
  for (auto const& type : {arrow::int32(), arrow::uint32()}) {
    EXPECT_TRUE(packs_as(*few, type)) << type->ToString();
    EXPECT_FALSE(packs_as(*some, type)) << type->ToString();
  }
  EXPECT_TRUE(packs_as(*few, arrow::int16()));
  for (auto const& type : {arrow::uint64(), arrow::timestamp(arrow::TimeUnit::NANO)})
    EXPECT_TRUE(packs_as(*some, type)) << type->ToString();
  EXPECT_TRUE(packs(decimals(*some, 18)));
  EXPECT_FALSE(packs(decimals(*some, 9))) << "of 32 bits";
  EXPECT_FALSE(packs(decimals(*few, 19))) << "of 9 bytes";
  for (auto const& type : {arrow::float64(), arrow::utf8(), arrow::boolean()})
    EXPECT_FALSE(packs_as(*few, type)) << type->ToString();
  EXPECT_FALSE(packs(arrow::compute::DictionaryEncode(few).ValueOrDie().make_array()));
}

TEST(ColumnSample, LooksIntoSlicesAndChunks) {
  auto const random = integers([](auto) { return random_bits(50); });
  auto const rising = integers([](auto i) { return i; });
  auto const both = arrow::Concatenate({random, rising}).ValueOrDie();
  EXPECT_TRUE(packs(both->Slice(kSampledRows)));
  EXPECT_FALSE(packs(both->Slice(0, kSampledRows)));
  auto const wide = decimals(*both->Slice(kSampledRows - 100), 18);
  EXPECT_TRUE(packs(wide->Slice(100)));
  EXPECT_FALSE(packs(wide->Slice(0, 100)));
  EXPECT_FALSE(packs_well(arrow::ChunkedArray({rising->Slice(0, 100), random, random})));
}

}  // namespace
}  // namespace garuda::io
