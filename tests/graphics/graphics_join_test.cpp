// The graphics kernel against the oracle: every way to run it, over sizes, distributions and forced overflows.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>

#include "tests/graphics/graphics_problem.hpp"
#include "tests/workloads/pairwise_cases.hpp"

namespace garuda::graphics {
namespace {

using testing::describe;
using testing::JoinCase;
using testing::KeyPattern;
using testing::kWays;
using testing::Nulls;
using testing::Problem;
using testing::SizedTuning;
using testing::tuning_of;
using testing::Way;

constexpr std::array kBuildSides{BuildSide::automatic, BuildSide::left, BuildSide::right};

class GraphicsJoinWays : public testing::GraphicsKernelTest, public ::testing::WithParamInterface<std::size_t> {
 protected:
  static std::size_t turn() { return GetParam() % kWays.size(); }
  static Way way() { return testing::all_ways().at(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Ways, GraphicsJoinWays, ::testing::Range(std::size_t{0}, testing::all_ways().size()),
                         [](auto const& way) { return std::string(testing::all_ways().at(way.param).name); });

/// A small case and how it is run: images of 64 × 64 pixels, stack slices of 2 images, result FBOs of 64 and of 4096
/// texels and the build sides take turns.
struct TunedCase {
  JoinCase join_case;
  SizedTuning tuning;
};

/// Hundreds of rows and much skew: a stack of a hundred images or more.
bool is_tall(JoinCase const& join_case) {
  auto const rows = std::max(join_case.left_rows, join_case.right_rows);
  bool const skewed = join_case.pattern == KeyPattern::all_equal || join_case.pattern == KeyPattern::zipf_1_0 ||
                      join_case.pattern == KeyPattern::zipf_1_5 || join_case.pattern == KeyPattern::zipf_both;
  return skewed && rows > 100;
}

/// One of so many small cases is run by each way that finds matches by compute: its images are those of the others. No
/// divisor in common with the turns of the tunings.
constexpr std::size_t kComputedTurns = 37;

/// The small cases of one way, those with equal tunings together. A kernel never sees nulls, which only vary the keys:
/// cases with nulls take turns with the ways, and so do tall stacks, unless every case is asked for. `own_turn`: of the
/// way.
std::vector<TunedCase> tuned_small_cases(Way const& way, std::size_t own_turn) {
  std::vector<TunedCase> cases;
  for (auto const& join_case : testing::small_cases()) {
    if (std::max(join_case.left_rows, join_case.right_rows) > testing::max_test_rows()) continue;
    auto const turn = join_case.seed / 2;
    bool const tall = way.storage == Storage::stack && is_tall(join_case);
    bool const computed = way.matching == Matching::compute;
    bool const takes_turns = join_case.nulls != Nulls::none || tall || computed;
    auto const turns = computed ? kComputedTurns : kWays.size();
    if (!testing::takes_case(turn)) continue;
    if (takes_turns && turn % turns != own_turn && !testing::full_tests()) continue;
    auto tuning = tuning_of(way);
    tuning.sizes.hash_extent = turn % 2 == 0 ? 64 : 256;
    tuning.sizes.stack_layers = tall || turn % 3 == 0 ? 24 : 2;
    tuning.sizes.result_extent = !is_tall(join_case) && turn % 4 == 0 ? 8 : 64;
    tuning.build = kBuildSides[turn % 5 % 3];
    cases.push_back({join_case, tuning});
  }
  std::ranges::stable_sort(cases, {}, [](TunedCase const& tuned) {
    return std::to_string(tuned.join_case.key_bits) + describe(tuned.tuning);
  });
  return cases;
}

/// The full cross product at up to 257 rows.
TEST_P(GraphicsJoinWays, EverySmallCase) {
  std::unique_ptr<contract::JoinBackend> backend;
  std::optional<TunedCase> opened_for;
  std::size_t refused = 0;
  for (auto const& tuned : tuned_small_cases(way(), turn())) {
    auto const& [join_case, tuning] = tuned;
    SCOPED_TRACE(to_string(join_case) + " " + describe(tuning));
    bool const reopen =
        !opened_for || opened_for->tuning != tuning || opened_for->join_case.key_bits != join_case.key_bits;
    if (reopen) {
      backend.reset();
      backend = open(tuning, join_case.key_bits);
      ASSERT_NE(backend, nullptr);
      opened_for = tuned;
    }
    Problem const problem(join_case);
    auto kernel = backend->begin(problem.slice(), 0);
    if (!kernel && kernel.error().code() == ErrorCode::usage) {
      EXPECT_EQ(tuning.address, Address::direct) << kernel.error().describe();
      ++refused;
      continue;
    }
    ASSERT_TRUE(kernel) << kernel.error().describe();
    problem.expect_solved_by(**kernel, 1 + join_case.seed % 1'000);
    if (HasFatalFailure()) return;
  }
  // Only keys over their whole width have no direct image.
  bool const is_direct = way().address == Address::direct;
  if (way().matching == Matching::compute) {
    EXPECT_TRUE(refused == 0 || is_direct);
  } else {
    EXPECT_EQ(refused > 0, is_direct);
  }
}

constexpr std::array<std::uint64_t, 10> kSizes{0, 1, 7, 8, 9, 255, 256, 257, 65'535, 65'537};

std::vector<testing::Axis> large_axes() {
  std::vector<testing::Axis> axes{{"way", {}},
                                  {"left", {}},
                                  {"right", {}},
                                  {"pattern", {}},
                                  {"bits", {"32", "64"}},
                                  {"build", {"auto", "left", "right"}},
                                  {"result", {"64", "2048"}}};
  for (auto const& way : kWays) axes[0].values.emplace_back(way.name);
  for (auto const size : kSizes) {
    axes[1].values.push_back(std::to_string(size));
    axes[2].values.push_back(std::to_string(size));
  }
  for (std::size_t i = 0; i < testing::kNumKeyPatterns; ++i) {
    axes[3].values.emplace_back(to_string(static_cast<KeyPattern>(i)));
  }
  return axes;
}

/// Cases with a large side that a test can afford: at most 9 M pairs, direct addresses only for keys that have them.
/// Tall stacks are for runs to handle, unless the build side is the one without skew.
bool is_large_case(std::span<std::size_t const> choice) {
  auto const open = testing::kOpen;
  if (choice[1] == open || choice[2] == open) return true;
  auto const left = kSizes[choice[1]];
  auto const right = kSizes[choice[2]];
  if (std::max(left, right) < kSizes[8]) return false;
  if (choice[0] == open || choice[3] == open) return true;
  auto const& way = kWays[choice[0]];
  auto const pattern = static_cast<KeyPattern>(choice[3]);
  if (!testing::is_affordable(pattern, left, right)) return false;
  bool const whole_width = pattern == KeyPattern::random_unique || pattern == KeyPattern::extremes;
  if (way.address == Address::direct && whole_width) return false;
  if (way.storage == Storage::runs) return true;
  bool const right_is_skewed =
      pattern == KeyPattern::zipf_0_5 || pattern == KeyPattern::zipf_1_0 || pattern == KeyPattern::zipf_1_5;
  if (pattern == KeyPattern::zipf_both && std::min(left, right) > 9) return false;
  // stride_2_16 repeats 32-bit keys after 2^16 rows only, which is no skew.
  bool const needs_left = right_is_skewed && right > 9;
  bool const needs_smaller = pattern == KeyPattern::all_equal || pattern == KeyPattern::zipf_both;
  if (choice[5] == open) return true;
  auto const build = kBuildSides[choice[5]];
  if (needs_left) return build == BuildSide::left;
  return !needs_smaller || build == (left < right ? BuildSide::left : BuildSide::right);
}

class GraphicsJoinLarge : public testing::GraphicsKernelTest {
 protected:
  void SetUp() override {
    if (testing::max_test_rows() < kSizes.back()) GTEST_SKIP() << "more rows than GARUDA_TEST_MAX_ROWS";
  }
};

TEST_F(GraphicsJoinLarge, EveryPairOfAxes) {
  auto const axes = large_axes();
  auto const chosen = testing::pairwise_cases(axes, is_large_case);
  std::uint64_t seed = 0;
  for (auto const& choice : chosen.cases) {
    if (!testing::takes_every_second(seed)) {
      ++seed;
      continue;
    }
    SCOPED_TRACE(testing::describe(axes, choice));
    Problem const problem(JoinCase{choice[4] == 0 ? 32U : 64U, kSizes[choice[1]], kSizes[choice[2]],
                                   static_cast<KeyPattern>(choice[3]), Nulls::none, ++seed});
    auto tuning = tuning_of(kWays[choice[0]]);
    tuning.build = kBuildSides[choice[5]];
    if (choice[6] == 0) tuning.sizes.result_extent = 64;
    expect_solved(problem, tuning);
    if (HasFatalFailure()) return;
  }
}

/// 64 × 64 pixels for 65 537 rows: about 40 clashes in the fullest pixel, so stacks of 2 images overflow again and
/// again.
TEST_F(GraphicsJoinLarge, SmallImages) {
  Problem const problem(JoinCase{64, 65'537, 9'000, KeyPattern::random_unique, Nulls::none, 1});
  for (auto const& way : testing::all_ways()) {
    if (way.address == Address::direct) continue;
    auto tuning = tuning_of(way);
    tuning.sizes.hash_extent = 64;
    tuning.sizes.result_extent = 64;
    // The way that is slowest to render over and over gets fewer, taller slices.
    tuning.sizes.stack_layers = way.probe == Probe::instanced ? 2 : 24;
    tuning.build = way.probe == Probe::output ? BuildSide::left : BuildSide::right;
    SCOPED_TRACE(std::string(way.name) + " " + describe(tuning));
    expect_solved(problem, tuning);
    if (HasFatalFailure()) return;
  }
}

TEST_F(GraphicsJoinLarge, MillionDenseKeys) {
  if (!testing::takes_large_case()) GTEST_SKIP() << "a million rows are for full runs on this driver";
  for (std::uint32_t const key_bits : {32U, 64U}) {
    Problem const problem(JoinCase{key_bits, 1'000'000, 1'000'000, KeyPattern::dense_unique, Nulls::none, 1});
    for (auto const& way : testing::all_ways()) {
      // A strategy that draws and one that computes, each with one width; all of them when every case is asked for.
      bool const chosen = way.name == (key_bits == 32 ? "HashRunsOutput" : "DirectStackInstancedComputed");
      if (!chosen && !testing::full_tests()) continue;
      SCOPED_TRACE(std::string(way.name) + " u" + std::to_string(key_bits));
      expect_solved(problem, tuning_of(way));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(GraphicsJoinLarge, OneKeyAgainstManyEqualOnes) {
  Problem const problem(JoinCase{32, 1, 100'000, KeyPattern::all_equal, Nulls::none, 1});
  for (auto const& way : kWays) {
    SCOPED_TRACE(way.name);
    expect_solved(problem, tuning_of(way));
    if (HasFatalFailure()) return;
  }
}

TEST_F(GraphicsJoinLarge, ThreeThousandEqualKeysASide) {
  if (!testing::takes_large_case()) GTEST_SKIP() << "nine million pairs are for full runs on this driver";
  Problem const problem(JoinCase{32, 3'000, 3'000, KeyPattern::all_equal, Nulls::none, 1});
  for (auto const& way : kWays) {
    // 9 M pairs each, and a stack takes 3 000 images: one way unless every case is asked for.
    if (way.name != "HashRunsOutput" && !testing::full_tests()) continue;
    SCOPED_TRACE(way.name);
    expect_solved(problem, tuning_of(way));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace garuda::graphics
