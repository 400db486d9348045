// The graphics group-by against sums and groups found one row at a time: every way to run it.
#include "operators/graphics/group_by/graphics_group_by.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "operators/graphics/group_by/group_by_choice.hpp"
#include "shaders/shared/group_by_layout.h"
#include "tests/workloads/group_kernel_test.hpp"

namespace garuda::graphics {
namespace {

using testing::GroupCase;
using testing::GroupPattern;
using testing::GroupProblem;
using testing::KeyShape;
using testing::ValueColumn;
using testing::ValuePattern;

using testing::Counters;
using testing::kAllStates;
using testing::kKinds;
using testing::kShapes;

class GraphicsGroupBy : public testing::GroupKernelTest {
 protected:
  static Open opener() {
    return [](contract::GroupByBackendOptions const& options) {
      return open_graphics_group_by(device(), store(), options);
    };
  }
  static Result<std::unique_ptr<contract::GroupByBackend>> open(GroupByTuning const& tuning,
                                                                contract::StatsSink* stats = nullptr,
                                                                ImageSizes const& sizes = {}) {
    contract::GroupByBackendOptions options;
    options.tuning = tuning;
    options.max_value_words = 4;
    options.stats = stats;
    return open_graphics_group_by(device(), store(), options, sizes);
  }

  using testing::GroupKernelTest::run;
  static void run(ImageSizes const& sizes, GroupCase const& group_case, std::uint32_t columns) {
    SCOPED_TRACE(to_string(group_case) + " extent " + std::to_string(sizes.hash_extent));
    auto const backend = open({}, nullptr, sizes);
    ASSERT_TRUE(backend) << backend.error().describe();
    run(**backend, group_case, columns);
  }
};

/// Every pattern and shape of keys at sizes around a workgroup; kinds and values take turns.
TEST_F(GraphicsGroupBy, EverySmallCase) {
  std::uint32_t seed = 0;
  for (auto const keys : {KeyForm::automatic, KeyForm::rowid}) {
    GroupByTuning tuning;
    tuning.keys = keys;
    auto const backend = open(tuning);
    ASSERT_TRUE(backend) << backend.error().describe();
    for (auto const& shape : kShapes) {
      if (keys == KeyForm::rowid && shape.words == 0) continue;
      run_small_cases(**backend, shape, seed);
      if (HasFatalFailure()) return;
    }
  }
}

/// Every kind with every pattern of values, with and without nulls.
TEST_F(GraphicsGroupBy, EveryKindOfValues) {
  for (bool const blends : {true, false}) {
    ImageSizes sizes;
    sizes.blends = blends;
    auto const backend = open({}, nullptr, sizes);
    ASSERT_TRUE(backend) << backend.error().describe();
    run_every_kind(**backend);
    if (HasFatalFailure()) return;
  }
}

/// Every pattern of groups at more rows than one pixel may add up; shapes, kinds and values take turns.
TEST_F(GraphicsGroupBy, LargeCases) {
  if (too_large(65'537)) GTEST_SKIP() << "sanitizer builds run small cases";
  auto const backend = open({});
  ASSERT_TRUE(backend) << backend.error().describe();
  run_large_cases(**backend);
}

/// More rows in one group than 16 lanes of a pixel each may add up, all of the largest value.
TEST_F(GraphicsGroupBy, MillionRowsInOneGroup) {
  if (too_large(kMillionRows)) GTEST_SKIP() << "sanitizer builds run small cases";
  auto const backend = open({});
  ASSERT_TRUE(backend) << backend.error().describe();
  run_million_rows_in_one_group(**backend);
}

/// Images of 64 × 64 pixels: several hash images, accumulators drawn in parts that cut through groups. They need not be
/// powers of two: the largest accumulator image of 64 × 90 pixels holds fewer groups at once than 90² pixels would.
TEST_F(GraphicsGroupBy, SmallImages) {
  ImageSizes sizes;
  sizes.hash_extent = 64;
  std::uint64_t const rows = too_large(20'000) ? 257 : 20'000;
  for (auto const pattern : {GroupPattern::distinct, GroupPattern::zipf}) {
    for (auto const& shape : {KeyShape{32, 0, false, false}, KeyShape{0, 5, false, true}}) {
      run(sizes, {rows, pattern, shape, 6}, 2);
      if (HasFatalFailure()) return;
    }
  }
  sizes.hash_extent = 2;
  run(sizes, {257, GroupPattern::distinct, {64, 0, false, false}, 8}, 1);
  sizes.hash_extent = 90;
  sizes.spread = 929;
  run(sizes, {100, GroupPattern::distinct, {32, 0, false, false}, 8}, 3);
}

TEST_F(GraphicsGroupBy, LanesOfOneGroupInParts) {
  if (!testing::takes_large_case()) GTEST_SKIP() << "140000 rows: lavapipe, or full runs";
  ImageSizes sizes;
  sizes.hash_extent = 64;
  sizes.spread = 1000;
  // Three blocks of 65 536 rows: 3000 lanes a window, windows of floats in more than one part.
  GroupProblem const problem({140'000, GroupPattern::heavy, {32, 0, false, false}, 4});
  auto const backend = open({}, nullptr, sizes);
  ASSERT_TRUE(backend) << backend.error().describe();
  auto kernel = (*backend)->begin(problem.slice(), 0);
  ASSERT_TRUE(kernel) << kernel.error().describe();
  expect_groups(**kernel, problem);
  for (auto const kind : {contract::ValueKind::float32, contract::ValueKind::int128}) {
    expect_states(**kernel, problem, ValueColumn(kind, ValuePattern::cancelling, true, 140'000, 2),
                  contract::kSumState);
    if (HasFatalFailure()) return;
  }
}

/// Devices that cannot blend add up by compute passes.
TEST_F(GraphicsGroupBy, WithoutBlending) {
  ImageSizes sizes;
  sizes.blends = false;
  auto const backend = open({}, nullptr, sizes);
  ASSERT_TRUE(backend) << backend.error().describe();
  std::uint64_t const rows = testing::takes_large_case() ? 65'537 : 257;
  for (std::uint32_t pattern = 0; pattern < testing::kNumGroupPatterns; pattern += 2) {
    GroupCase const group_case{rows, static_cast<GroupPattern>(pattern), {32, 0, false, false}, 11 + pattern};
    SCOPED_TRACE(to_string(group_case));
    run(**backend, group_case, 3);
    if (HasFatalFailure()) return;
  }
}

/// A hashing attribute that all rows agree in costs one image, not one for every group.
TEST_F(GraphicsGroupBy, PoorHashingAttribute) {
  for (auto const keys : {KeyForm::words, KeyForm::rowid}) {
    Counters stats;
    GroupByTuning tuning;
    tuning.keys = keys;
    auto const backend = open(tuning, &stats);
    ASSERT_TRUE(backend) << backend.error().describe();
    run(**backend, {257, GroupPattern::distinct, {0, 4, false, true}, 2}, 0);
    EXPECT_GE(stats.value("hash_images"), 2U);
    EXPECT_LE(stats.value("hash_images"), 6U);
    EXPECT_EQ(stats.value("attachments"), keys == KeyForm::words ? 2U : 1U);
  }
}

TEST_F(GraphicsGroupBy, ReportsWhatItDid) {
  Counters stats;
  auto const backend = open({}, &stats);
  ASSERT_TRUE(backend) << backend.error().describe();
  GroupProblem const problem({257, GroupPattern::some, {32, 0, true, false}, 2});
  {
    auto kernel = (*backend)->begin(problem.slice(), 0);
    ASSERT_TRUE(kernel) << kernel.error().describe();
    expect_groups(**kernel, problem);
    expect_states(**kernel, problem, ValueColumn(contract::ValueKind::float64, ValuePattern::full_range, false, 257, 2),
                  kAllStates);
  }
  // Direct addresses need one image and nothing else.
  EXPECT_EQ(stats.value("hash_images"), 1U);
  EXPECT_EQ(stats.value("direct_slices"), 1U);
  // The image, the count, the windows, the sum, three pieces of the extremes.
  EXPECT_EQ(stats.value("passes"), 7U);
  EXPECT_EQ(stats.value("points"), 257U * 8);
  EXPECT_GT(stats.value("accumulator_pixels"), 0U);
  for (auto const* name : {"hash", "map", "prefix", "windows", "sum", "extremes", "fold", "count"}) {
    EXPECT_TRUE(stats.phases().contains(name)) << name;
  }
}

TEST_F(GraphicsGroupBy, KeysAtBothEndsOfTheRange) {
  auto const backend = open({});
  ASSERT_TRUE(backend) << backend.error().describe();
  expect_keys_at_both_ends_of_the_range(**backend);
}

TEST_F(GraphicsGroupBy, RefusesWhatCannotBe) {
  expect_direct_needs_a_range(opener());
  GroupByTuning words;
  words.keys = KeyForm::words;
  EXPECT_EQ(refusal(opener(), words, {257, GroupPattern::distinct, {0, 40, false, false}, 1}), ErrorCode::no_device);
}

TEST_F(GraphicsGroupBy, KeepsToItsMemory) { expect_keeps_to_its_memory(opener()); }

TEST_F(GraphicsGroupBy, TheFirstImageIsForTheGroupsExpectedAndMoreTakeALargerOne) {
  for (std::uint32_t const words : {0U, 3U}) {
    GroupProblem const problem({5000, GroupPattern::distinct, {words == 0 ? 64U : 0U, words, false, false}, 1});
    for (std::uint64_t const expected : {1U, 100U, 5000U, 1'000'000U}) {
      SCOPED_TRACE(std::to_string(words) + " words, groups expected: " + std::to_string(expected));
      Counters counters;
      contract::GroupByBackendOptions options;
      options.tuning.address = Address::hash;
      options.expected_groups = expected;
      options.stats = &counters;
      auto const backend = open_graphics_group_by(device(), store(), options);
      ASSERT_TRUE(backend) << backend.error().describe();
      auto const kernel = (*backend)->begin(problem.slice(), 0);
      ASSERT_TRUE(kernel) << kernel.error().describe();
      expect_groups(**kernel, problem);
      EXPECT_LE(counters.value("image_pixels"), 16'384U) << "5000 rows fill two fifths of it";
    }
  }
  GroupProblem const one({5000, GroupPattern::one, {64, 0, false, false}, 1});
  Counters counters;
  contract::GroupByBackendOptions options;
  options.tuning.address = Address::hash;
  options.expected_groups = 1;
  options.stats = &counters;
  auto const backend = open_graphics_group_by(device(), store(), options);
  ASSERT_TRUE(backend) << backend.error().describe();
  auto const kernel = (*backend)->begin(one.slice(), 0);
  ASSERT_TRUE(kernel) << kernel.error().describe();
  expect_groups(**kernel, one);
  EXPECT_EQ(counters.value("image_pixels"), 4U);
}

TEST_F(GraphicsGroupBy, StopsWhenCancelled) { expect_stops_when_cancelled(opener()); }

TEST(GroupByChoice, NoPixelAddsUpTooManyRows) {
  for (std::uint64_t const rows : {65'537, 1'000'000, 1 << 24}) {
    for (std::uint32_t const spread : {0, 1, 3, 1024}) {
      auto const lanes = sum_lanes(rows, spread);
      EXPECT_LE((rows + lanes - 1) / lanes, shaders::kPixelRows) << rows << " rows, spread " << spread;
    }
  }
  EXPECT_EQ(sum_lanes(65'536, 0), 1U);
}

/// Images of 2^9 to 2^12 pixels of limbs are slow to blend into.
TEST(GroupByChoice, SumsOfFewGroupsAreSpreadFarOrHardly) {
  GroupByLimits limits;
  limits.blend = true;
  auto const pixels = [&](std::uint64_t rows, std::uint64_t groups) {
    return groups * group_lanes(rows, groups, kLimbBytes, limits);
  };
  for (std::uint64_t const groups : {17, 100, 1000, 16'384}) {
    EXPECT_GT(pixels(1 << 20, groups), std::uint64_t{1} << 13) << groups;
    EXPECT_LE(pixels(1 << 20, groups), std::uint64_t{1} << 14) << groups;
  }
  EXPECT_GT(pixels(1 << 24, 3), std::uint64_t{1} << 13) << "256 lanes of 2^16 rows each";
  EXPECT_EQ(pixels(1 << 20, 100'000), 100'000U);
  for (std::uint64_t const groups : {1, 3, 16}) EXPECT_LE(pixels(1 << 20, groups), 256U) << groups;
  EXPECT_EQ(pixels(100, 50), 50U);

  EXPECT_EQ(group_lanes(1 << 20, 16, 4, limits), 256U) << "counts";
  limits.spread = 3;
  EXPECT_EQ(group_lanes(1 << 20, 16, kLimbBytes, limits), 3U) << "as it was asked for";
  limits.blend = false;
  EXPECT_EQ(group_lanes(1 << 20, 16, kLimbBytes, limits), 1U);
}

TEST(GroupByChoice, KeyFormFollowsAttachments) {
  GroupByLimits limits;
  limits.max_attachments = 4;
  EXPECT_EQ(choose_key_form(15, KeyForm::automatic, limits).value(), KeyForm::words);
  EXPECT_EQ(choose_key_form(16, KeyForm::automatic, limits).value(), KeyForm::rowid);
  EXPECT_EQ(choose_key_form(2, KeyForm::rowid, limits).value(), KeyForm::rowid);
  EXPECT_FALSE(choose_key_form(16, KeyForm::words, limits));
}

TEST(GroupByChoice, ImagesKeepToTheBudget) {
  GroupByLimits limits;
  limits.images.hash_extent = 4096;
  limits.images.max_pixels = std::uint64_t{1} << 28;
  EXPECT_EQ(group_image(1'000'000, 8, ~std::uint64_t{0}, limits).pixels(), std::uint64_t{1} << 22);
  EXPECT_LE(group_image(1'000'000, 8, 1'000'000, limits).pixels() * 8, 1'000'000U);
  EXPECT_EQ(group_image(1'000'000, 8, 0, limits).pixels(), 4U);
}

}  // namespace
}  // namespace garuda::graphics
