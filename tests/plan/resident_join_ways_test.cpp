// The choice between ways to join resident tables: pure, with rates measured on an H200.
#include "operators/compute/join/resident_join_strategies.hpp"

#include <gtest/gtest.h>

#include "operators/rates/calibrations.hpp"
#include "tests/unwrap.hpp"

namespace garuda::plan {
namespace {

using testing::value_of;

rates::DeviceRates h200() {
  return value_of(rates::read_recorded<rates::DeviceRates>(std::string(GARUDA_TEST_CALIBRATIONS) + "/h200.json"));
}

/// A join of `rows` rows a side, each with so many payload columns as wide as the key.
compute::ResidentJoinShape shape_of(double rows, double columns, double key_bytes, double match_ratio) {
  compute::ResidentJoinShape shape;
  shape.left = shape.right = {rows, columns * key_bytes, columns};
  shape.key_bytes = key_bytes;
  shape.matches = rows * match_ratio;
  return shape;
}

compute::ResidentJoinStrategy choose(compute::ResidentJoinShape const& shape) {
  return value_of(compute::resident_join_strategies(shape, h200(), {})).front();
}

constexpr compute::ResidentJoinStrategy kCarries{JoinMethod::partitioned, false};
constexpr compute::ResidentJoinStrategy kGathers{JoinMethod::partitioned, true};

/// Wu et al. 2025, §6: gather where few rows match, columns are many or wide; carry where all match.
TEST(ResidentJoinStrategies, PayloadIsGatheredWhereFewRowsMatchOrColumnsAreMany) {
  for (double const rows : {1 << 24, 1 << 26}) {
    for (double const key_bytes : {4, 8})
      for (double const columns : {1, 2, 4}) EXPECT_EQ(choose(shape_of(rows, columns, key_bytes, 1)), kCarries);
    EXPECT_EQ(choose(shape_of(rows, 1, 4, 0.03)), kCarries);  // a row number is as wide as the payload
    EXPECT_EQ(choose(shape_of(rows, 2, 4, 0.03)), kGathers);
    EXPECT_EQ(choose(shape_of(rows, 4, 4, 0.03)), kGathers);
    EXPECT_EQ(choose(shape_of(rows, 4, 4, 0.5)), kCarries);
    EXPECT_EQ(choose(shape_of(rows, 1, 8, 0.03)), kGathers);
    EXPECT_EQ(choose(shape_of(rows, 4, 8, 0.5)), kGathers);
  }
}

TEST(ResidentJoinStrategies, CostsOfGathersGrowWithMatchesThoseOfCarriedPayloadWithColumns) {
  auto const ns = [](compute::ResidentJoinShape const& shape, compute::ResidentJoinStrategy const& way) {
    return contract::total_ns(compute::resident_join_costs(shape, way, h200(), {}));
  };
  auto const dearer = [&](compute::ResidentJoinStrategy const& way, compute::ResidentJoinShape const& less,
                          compute::ResidentJoinShape const& more) { return ns(more, way) - ns(less, way); };
  auto const few = shape_of(1 << 26, 2, 4, 0.03);
  EXPECT_GT(dearer(kGathers, few, shape_of(1 << 26, 2, 4, 1)), dearer(kCarries, few, shape_of(1 << 26, 2, 4, 1)));
  EXPECT_LT(dearer(kGathers, few, shape_of(1 << 26, 8, 4, 0.03)), dearer(kCarries, few, shape_of(1 << 26, 8, 4, 0.03)));
  EXPECT_GT(ns(shape_of(1 << 26, 1, 8, 1), kCarries), ns(shape_of(1 << 26, 1, 4, 1), kCarries));
  // A side without payload has nothing to gather.
  EXPECT_EQ(ns(shape_of(1 << 26, 0, 4, 1), kGathers), ns(shape_of(1 << 26, 0, 4, 1), kCarries));
}

/// Partitions move all rows, a look-up only what matches: where caches hold the build side and few rows match it.
TEST(ResidentJoinStrategies, SmallBuildSidesAreLookedUpWhereFewRowsMatch) {
  auto rates = h200();
  rates.cached_reads_per_s = 150e9;  // of tables that caches hold
  auto shape = shape_of(1 << 26, 2, 4, 0.03);
  auto const method = [&] { return value_of(compute::resident_join_strategies(shape, rates, {})).front().method; };
  shape.left.rows = 1 << 20;
  EXPECT_EQ(method(), JoinMethod::global);
  shape.matches = 1 << 26;
  EXPECT_EQ(method(), JoinMethod::partitioned);
  shape.left.rows = shape.right.rows;
  EXPECT_EQ(method(), JoinMethod::partitioned);
}

/// Bitmaps over a narrow range serve joins without pairs, and counts where a side has no key twice.
TEST(ResidentJoinStrategies, BitmapsAreOfNarrowRangesWithoutPairs) {
  auto shape = shape_of(1 << 27, 1, 4, 1);
  shape.parts = contract::parts_of(JoinKind::semi);
  auto const choose = [](compute::ResidentJoinShape const& join) {
    auto rates = h200();
    rates.cached_reads_per_s = rates.cached_atomics_per_s = 150e9;
    return value_of(compute::resident_join_strategies(join, rates, {})).front();
  };
  EXPECT_NE(choose(shape).method, JoinMethod::bitmap);  // the range is not known
  shape.right.key_span = 1 << 27;
  EXPECT_EQ(choose(shape).method, JoinMethod::bitmap);
  shape.right.key_span = 1e12;
  EXPECT_NE(choose(shape).method, JoinMethod::bitmap);
  shape.right.key_span = 1 << 27;
  shape.parts = contract::parts_of(JoinKind::full);
  shape.right.is_unique = true;
  EXPECT_NE(choose(shape).method, JoinMethod::bitmap);
  shape.counts = true;
  // A bitmap of so many keys is made in pieces, unless keys may be null; one of few keys directly.
  compute::ResidentJoinStrategy way{JoinMethod::bitmap,         false,        Side::right,
                                    compute::JoinedParts::none, {true, true}, 10};
  EXPECT_EQ(choose(shape), way);
  way.scattered_by = 0;
  shape.right.may_have_null_keys = true;
  EXPECT_EQ(choose(shape), way);
  shape.right.may_have_null_keys = false;
  auto few = shape;
  few.left.rows = few.right.rows = 1 << 10;
  few.right.key_span = 1 << 10;
  EXPECT_EQ(choose(few).scattered_by, 0U);
  shape.right.is_unique = false;
  EXPECT_NE(choose(shape).method, JoinMethod::bitmap);
}

TEST(ResidentJoinStrategies, TuningsForceTheWay) {
  auto shape = shape_of(1 << 20, 2, 4, 1);
  shape.asked.payload = Payload::gather;
  EXPECT_EQ(choose(shape), kGathers);
  auto wide = shape_of(1 << 20, 8, 8, 0);
  wide.asked.payload = Payload::carry;
  EXPECT_EQ(choose(wide), kCarries);
  shape.asked.payload = Payload::automatic;
  for (auto const method : {JoinMethod::partitioned, JoinMethod::global}) {
    shape.asked.method = method;
    EXPECT_EQ(choose(shape).method, method);
  }
}

TEST(ResidentJoinStrategies, OrderedRowsComeOfAnIndexOverTheRightSide) {
  auto shape = shape_of(1 << 20, 1, 4, 1);
  shape.ordered = true;
  EXPECT_EQ(choose(shape), (compute::ResidentJoinStrategy{JoinMethod::global, false, Side::right}));
  shape.asked.method = JoinMethod::partitioned;
  auto const refused = compute::resident_join_strategies(shape, h200(), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::usage);
}

TEST(ResidentJoinStrategies, AWayIsNamedAsItIsForced) {
  auto const text_of = [](compute::ResidentJoinStrategy const& way) { return to_string(compute::forcing(way)); };
  EXPECT_EQ(text_of(kCarries), "payload=carry,method=partitioned");
  EXPECT_EQ(text_of(kGathers), "payload=gather,method=partitioned");
  EXPECT_EQ(text_of({JoinMethod::global}), "method=global");
}

}  // namespace
}  // namespace garuda::plan
