#include "bench/parts/raster_floor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace garuda::bench {
namespace {

JoinTables dense_tables(std::uint64_t rows_left, std::uint64_t rows_right) {
  JoinWorkload workload;
  workload.rows_left = rows_left;
  workload.rows_right = rows_right;
  return generate_join_tables(workload).value();
}

std::vector<std::uint32_t> keys_of(Table const& table) {
  auto const& column = table.batches()[0].columns[0];
  return {column.data<std::int32_t>(), column.data<std::int32_t>() + column.length};
}

std::vector<std::string> names(std::vector<FloorPass> const& passes) {
  std::vector<std::string> result;
  for (auto const& pass : passes) result.push_back(pass.name);
  return result;
}

TEST(RasterFloor, DrawsWhatTheJoinDrew) {
  auto const tables = dense_tables(1000, 3000);
  auto const passes = floor_passes(tables.left, tables.right, {0, 4096, 32}, {4000, 1000, 3000, 3000}).value();
  ASSERT_EQ(names(passes), (std::vector<std::string>{"statistics", "statistics", "build", "count", "probe"}));
  EXPECT_EQ(passes[0].image.target, calibrate::PointTarget::add);
  EXPECT_EQ(passes[0].image.width, 32U);
  EXPECT_EQ(passes[0].image.height, 32U);
  EXPECT_EQ(passes[0].pixels, keys_of(tables.left));
  EXPECT_EQ(passes[1].pixels, keys_of(tables.right));
  auto descending = keys_of(tables.left);
  std::reverse(descending.begin(), descending.end());
  EXPECT_EQ(passes[2].pixels, descending);
  EXPECT_EQ(passes[2].image.target, calibrate::PointTarget::overwrite_2);
  std::vector<std::uint32_t> ascending(3000);
  std::iota(ascending.begin(), ascending.end(), 0U);
  EXPECT_EQ(passes[3].pixels, ascending);
  EXPECT_EQ(passes[3].image.target, calibrate::PointTarget::add);
  EXPECT_EQ(passes[4].pixels, ascending);
  EXPECT_EQ(passes[4].image.target, calibrate::PointTarget::overwrite_2);
}

TEST(RasterFloor, FollowsTheSidesThatWereDrawn) {
  auto const tables = dense_tables(1000, 3000);
  auto const passes = floor_passes(tables.left, tables.right, {0, 4096, 64}, {1000, 3000, 1000, 3000}).value();
  ASSERT_EQ(names(passes), (std::vector<std::string>{"statistics", "build", "count", "probe"}));
  EXPECT_EQ(passes[0].pixels.size(), 1000U);
  EXPECT_EQ(passes[1].pixels.size(), 3000U);
  EXPECT_EQ(passes[1].image.target, calibrate::PointTarget::overwrite_4);
  EXPECT_EQ(passes[2].pixels.size(), 1000U);
}

TEST(RasterFloor, PhasesThatDrewNothingAreNotDrawn) {
  auto const tables = dense_tables(1000, 1000);
  EXPECT_EQ(names(floor_passes(tables.left, tables.right, {0, 4096, 32}, {0, 1000, 0, 1000}).value()),
            (std::vector<std::string>{"build", "probe"}));
}

TEST(RasterFloor, RunsOverwriteTheirCounts) {
  auto const tables = dense_tables(1000, 1000);
  auto const passes = floor_passes(tables.left, tables.right, {0, 4096, 32, true}, {1000, 0, 1000, 1000}).value();
  ASSERT_EQ(names(passes), (std::vector<std::string>{"statistics", "count", "probe"}));
  EXPECT_EQ(passes[1].image.target, calibrate::PointTarget::overwrite_2);
}

TEST(RasterFloor, DrawsEveryPartitionByItself) {
  auto const tables = dense_tables(1024, 2048);
  auto const passes = floor_passes(tables.left, tables.right, {2, 4096, 32}, {0, 1024, 2048, 2048}).value();
  ASSERT_EQ(passes.size(), 12U);
  for (std::size_t p = 0; p < 4; ++p) {
    auto build = passes[3 * p].pixels;
    std::sort(build.begin(), build.end());
    std::vector<std::uint32_t> every(256);
    std::iota(every.begin(), every.end(), 0U);
    EXPECT_EQ(build, every);
    EXPECT_EQ(passes[3 * p + 1].pixels.size(), 512U);
    EXPECT_EQ(passes[3 * p + 2].pixels.size(), 512U);
  }
}

TEST(RasterFloor, ResultFramesStartOverWhenFull) {
  auto const tables = dense_tables(1000, 1000);
  auto const passes = floor_passes(tables.left, tables.right, {0, 8, 32}, {0, 1000, 1000, 1000}).value();
  ASSERT_EQ(passes.size(), 3U);
  EXPECT_EQ(passes[2].image.num_pixels(), 64U);
  EXPECT_EQ(passes[2].pixels[63], 63U);
  EXPECT_EQ(passes[2].pixels[64], 0U);
}

TEST(RasterFloor, RefusesWhatItCannotEqual) {
  auto const tables = dense_tables(1000, 3000);
  EXPECT_EQ(floor_passes(tables.left, tables.right, {0, 4096, 32}, {4000, 999, 3000, 3000}).error().code(),
            ErrorCode::usage);
  JoinWorkload sparse;
  sparse.rows_left = sparse.rows_right = 1000;
  sparse.distribution.kind = KeyDistribution::Kind::uniform;
  auto const far_apart = generate_join_tables(sparse).value();
  EXPECT_EQ(floor_passes(far_apart.left, far_apart.right, {0, 4096, 32}, {0, 1000, 1000, 1000}).error().code(),
            ErrorCode::usage);
}

}  // namespace
}  // namespace garuda::bench
