// Group-bys taken apart: which sums blocks leave as they are, and which as exact states.
#include "spill/group_by/partial_groups.hpp"

#include <arrow/type.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>

#include "tests/unwrap.hpp"

namespace garuda::spill {
namespace {

using testing::value_of;

constexpr auto kAnyRows = std::numeric_limits<std::uint64_t>::max();

/// Whether blocks of a table of `most_rows` leave states of the sums of values of this type.
bool leaves_states(std::shared_ptr<arrow::DataType> const& values, std::uint64_t most_rows) {
  GroupBySpec const spec{{"key"}, {{AggregateFunction::sum, "value", std::nullopt}}};
  auto const schema = arrow::schema({arrow::field("key", arrow::int32()), arrow::field("value", values)});
  auto const groups = value_of(PartialGroups::create(schema, spec, most_rows));
  EXPECT_TRUE(groups.unmergeable().empty());
  return groups.spec().aggregates.front().as_state;
}

/// Below 2^(64 - bits) rows: so many of the least, or of the largest, fit 64 bits.
TEST(PartialGroups, SumsOfIntegersAreValuesWhereTheyFit) {
  struct Case {
    std::shared_ptr<arrow::DataType> type;
    int bits;
  };
  for (auto const& [type, bits] : {Case{arrow::int8(), 8}, Case{arrow::uint8(), 8}, Case{arrow::int16(), 16},
                                   Case{arrow::uint16(), 16}, Case{arrow::int32(), 32}, Case{arrow::uint32(), 32}}) {
    auto const rows = std::uint64_t{1} << (64 - bits);
    EXPECT_FALSE(leaves_states(type, 0)) << type->ToString();
    EXPECT_FALSE(leaves_states(type, rows - 1)) << type->ToString();
    EXPECT_TRUE(leaves_states(type, rows)) << type->ToString();
    EXPECT_TRUE(leaves_states(type, kAnyRows)) << type->ToString();
  }
}

TEST(PartialGroups, SumsOfDecimalsAreValuesWhereTheyFit) {
  for (auto const& type : {arrow::decimal32(9, 2), arrow::decimal64(18, 2), arrow::decimal128(18, 2)})
    EXPECT_FALSE(leaves_states(type, kAnyRows)) << type->ToString();
  EXPECT_TRUE(leaves_states(arrow::decimal128(19, 2), 1));
}

TEST(PartialGroups, OtherSumsAreStates) {
  for (auto const& type : {arrow::int64(), arrow::uint64(), arrow::float32(), arrow::float64()})
    EXPECT_TRUE(leaves_states(type, 1)) << type->ToString();
}

}  // namespace
}  // namespace garuda::spill
