// The CUDA join against the oracle: sizes, distributions, build sides and forced overflows.
#include "operators/cuda/cuda_path.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda/cuda_device.hpp"
#include "tests/graphics/graphics_problem.hpp"
#include "tests/unwrap.hpp"

namespace garuda::cuda {
namespace {

using testing::JoinCase;
using testing::KeyPattern;
using testing::Nulls;
using testing::Problem;
using testing::succeed;
using testing::value_of;

constexpr std::array kBuildSides{BuildSide::automatic, BuildSide::left, BuildSide::right};
constexpr std::array kUploads{Upload::stage, Upload::import};

class CudaJoin : public testing::CudaDeviceTest {
 protected:
  static void expect_solved(JoinCase const& join_case, JoinTuning const& tuning, std::uint64_t piece) {
    SCOPED_TRACE(to_string(join_case) + ", " + to_string(tuning));
    Problem const problem(join_case);
    contract::BackendOptions options;
    options.tuning = tuning;
    options.key_bits = join_case.key_bits;
    auto const backend = value_of(open_cuda_join(device(), options));
    auto const kernel = value_of(backend->begin(problem.slice(), 0));
    problem.expect_solved_by(*kernel, piece);
  }

  static JoinTuning tuning_of(std::uint64_t turn) {
    JoinTuning tuning;
    tuning.build = kBuildSides.at(turn % kBuildSides.size());
    tuning.upload = kUploads.at(turn / kBuildSides.size() % kUploads.size());
    return tuning;
  }
};

/// A kernel never sees nulls, which only vary the keys: cases with nulls take turns.
TEST_F(CudaJoin, EverySmallCase) {
  std::uint64_t turn = 0;
  for (auto const& join_case : testing::small_cases()) {
    ++turn;
    if (!testing::takes_case(turn)) continue;
    if (join_case.nulls != Nulls::none && turn % 8 != 0 && !testing::full_tests()) continue;
    expect_solved(join_case, tuning_of(turn), 1 + turn % 1'000);
    if (HasFailure()) return;
  }
}

TEST_F(CudaJoin, EveryBuildSideOnEveryPattern) {
  std::uint64_t turn = 0;
  for (std::uint32_t const bits : {32U, 64U})
    for (std::size_t pattern = 0; pattern < testing::kNumKeyPatterns; ++pattern)
      for (auto const build : kBuildSides) {
        auto tuning = tuning_of(++turn);
        tuning.build = build;
        expect_solved({bits, 257, 255, static_cast<KeyPattern>(pattern), Nulls::none, turn}, tuning, 5'000);
        if (HasFailure()) return;
      }
}

/// Every kernel with few launches, for runs under compute-sanitizer: keys that fit a partition, keys with many rows,
/// and sides of several tiles.
TEST_F(CudaJoin, ReducedMatrix) {
  std::uint64_t turn = 0;
  for (std::uint32_t const bits : {32U, 64U})
    for (auto const pattern : {KeyPattern::dense_unique, KeyPattern::zipf_1_0}) {
      bool const is_skewed = pattern == KeyPattern::zipf_1_0;
      expect_solved({bits, is_skewed ? 257U : 3'000U, is_skewed ? 1'000U : 6'000U, pattern, Nulls::none, turn},
                    tuning_of(++turn), 20'000);
      if (HasFailure()) return;
    }
}

TEST_F(CudaJoin, LargeCases) {
  std::uint64_t turn = 0;
  for (auto const& join_case : testing::large_cases()) {
    auto const rows = std::max(join_case.left_rows, join_case.right_rows);
    if (rows > testing::max_test_rows()) continue;
    if (!testing::is_affordable(join_case.pattern, join_case.left_rows, join_case.right_rows)) continue;
    expect_solved(join_case, tuning_of(++turn), 1'000'003);
    if (HasFailure()) return;
  }
}

TEST_F(CudaJoin, RestartsAtAnyPairOfAnyWindow) {
  if (testing::max_test_rows() < 3'000) GTEST_SKIP() << "more rows than GARUDA_TEST_MAX_ROWS";
  Problem const problem(JoinCase{32, 1'800, 2'500, KeyPattern::all_equal, Nulls::none, 1});
  auto const backend = value_of(open_cuda_join(device(), {}));
  auto const kernel = value_of(backend->begin(problem.slice(), 0));
  std::vector<contract::RowPair> all(value_of(kernel->count()));
  ASSERT_EQ(all.size(), 4'500'000U);
  succeed(kernel->pairs(0, all));
  problem.expect_pairs(all);
  for (std::uint64_t const first : {std::uint64_t{4'000'001}, std::uint64_t{17}, std::uint64_t{1'048'570}}) {
    std::vector<contract::RowPair> some(300'000);
    succeed(kernel->pairs(first, some));
    ASSERT_TRUE(std::equal(some.begin(), some.end(), all.begin() + static_cast<std::ptrdiff_t>(first))) << first;
  }
}

TEST_F(CudaJoin, CountsWhatCouldNotBeEnumerated) {
  std::vector<std::uint32_t> const keys(70'000, 7);
  contract::BackendOptions options;
  options.pairs_wanted = false;
  auto const backend = value_of(open_cuda_join(device(), options));
  contract::JoinSlice const slice{{std::span(keys), 7, 7, {}}, {std::span(keys), 7, 7, {}}};
  auto const kernel = value_of(backend->begin(slice, 0));
  EXPECT_EQ(value_of(kernel->count()), 4'900'000'000U);
  auto const marks = value_of(kernel->mark(Side::right));
  for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_NE(marks[i / 64] >> (i % 64) & 1U, 0U) << i;
}

/// A share of memory that holds the keys, but not the pairs: a smaller slice may fit.
TEST_F(CudaJoin, PairsThatDoNotFitAreAnError) {
  std::vector<std::uint32_t> const keys(20'000, 7);
  contract::BackendOptions options;
  options.device_memory_limit_bytes = std::uint64_t{64} << 20;
  auto const backend = value_of(open_cuda_join(device(), options));
  contract::JoinSlice const slice{{std::span(keys), 7, 7, {}}, {std::span(keys), 7, 7, {}}};
  auto const kernel = value_of(backend->begin(slice, 0));
  auto const pairs = kernel->count();
  ASSERT_FALSE(pairs);
  EXPECT_EQ(pairs.error().code(), ErrorCode::limit_exceeded);
}

/// The device's mixing of 32-bit keys (cuda_backend/hashing.cuh).
std::uint32_t mixed(std::uint32_t key) {
  key ^= key >> 16;
  key *= 0x85eb'ca6bU;
  key ^= key >> 13;
  key *= 0xc2b2'ae35U;
  return key ^ (key >> 16);
}

/// Keys that fall into one partition, mixed or not: far more than the table of a block has room for.
TEST_F(CudaJoin, KeysOfOnePartitionAreJoined) {
  constexpr std::size_t kRows = 6'000;
  if (testing::max_test_rows() < kRows) GTEST_SKIP() << "more rows than GARUDA_TEST_MAX_ROWS";
  std::vector<std::uint32_t> keys;
  for (std::uint32_t key = 0; keys.size() < kRows; key += 16)
    if (mixed(key) % 16 == 5) keys.push_back(key);
  auto const backend = value_of(open_cuda_join(device(), {}));
  contract::JoinSlice const slice{{std::span(std::as_const(keys)), keys.front(), keys.back(), {}},
                                  {std::span(std::as_const(keys)), keys.front(), keys.back(), {}}};
  auto const kernel = value_of(backend->begin(slice, 0));
  ASSERT_EQ(value_of(kernel->count()), kRows);
  std::vector<contract::RowPair> pairs(kRows);
  succeed(kernel->pairs(0, pairs));
  std::ranges::sort(pairs, {}, &contract::RowPair::left);
  for (std::size_t i = 0; i < kRows; ++i) EXPECT_TRUE(pairs[i].left == i && pairs[i].right == i) << i;
  auto const marks = value_of(kernel->mark(Side::left));
  for (std::size_t i = 0; i < kRows; ++i) EXPECT_NE(marks[i / 64] >> (i % 64) & 1U, 0U) << i;
}

TEST_F(CudaJoin, TooLittleMemoryIsAnErrorBeforeAnyPair) {
  Problem const problem(JoinCase{32, 257, 257, KeyPattern::dense_unique, Nulls::none, 1});
  contract::BackendOptions options;
  options.device_memory_limit_bytes = 1'000;
  auto const backend = value_of(open_cuda_join(device(), options));
  auto const kernel = backend->begin(problem.slice(), 0);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().code(), ErrorCode::limit_exceeded);
}

TEST_F(CudaJoin, StopsWhenCancelled) {
  std::atomic<bool> const cancelled{true};
  Control control;
  control.cancelled = &cancelled;
  Problem const problem(JoinCase{32, 257, 257, KeyPattern::dense_unique, Nulls::none, 1});
  contract::BackendOptions options;
  options.control = &control;
  auto const backend = value_of(open_cuda_join(device(), options));
  auto const kernel = backend->begin(problem.slice(), 0);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().code(), ErrorCode::cancelled);
}

TEST_F(CudaJoin, MappedUploadsAreRefused) {
  contract::BackendOptions options;
  options.tuning.upload = Upload::map;
  auto const backend = open_cuda_join(device(), options);
  ASSERT_FALSE(backend);
  EXPECT_EQ(backend.error().code(), ErrorCode::no_device);
}

TEST_F(CudaJoin, KeepsMemoryUntilItIsTrimmed) {
  Problem const problem(JoinCase{64, 257, 257, KeyPattern::random_unique, Nulls::none, 1});
  succeed(device().trim());
  auto const before = value_of(device().available_bytes());
  for (int i = 0; i < 3; ++i) expect_solved({32, 255, 257, KeyPattern::zipf_1_0, Nulls::none, 1}, {}, 1'000);
  succeed(device().trim());
  // Modules and the runtime's own buffers stay; the lanes' memory does not.
  EXPECT_LT(before, value_of(device().available_bytes()) + (std::uint64_t{512} << 20));
}

}  // namespace
}  // namespace garuda::cuda
