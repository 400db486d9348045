// How the graphics kernel behaves: restarts, choices, compute counting, lanes, limits, failures and cancellation.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <thread>

#include "tests/graphics/graphics_problem.hpp"

namespace garuda::graphics {
namespace {

using testing::JoinCase;
using testing::KeyPattern;
using testing::kWays;
using testing::Nulls;
using testing::Problem;
using testing::SizedTuning;
using testing::tuning_of;

class GraphicsKernel : public testing::GraphicsKernelTest {
 protected:
  static std::vector<contract::RowPair> all_pairs(contract::JoinKernel& kernel) {
    auto const count = kernel.count();
    EXPECT_TRUE(count) << count.error().describe();
    std::vector<contract::RowPair> pairs(count.value_or(0));
    auto const got = kernel.pairs(0, pairs);
    EXPECT_TRUE(got) << got.error().describe();
    return pairs;
  }
};

std::uint64_t test_rows(std::uint64_t rows) { return std::min(rows, testing::max_test_rows()); }

/// Windows of 64 texels and stack slices of 2 images, read at random positions, again and again.
TEST_F(GraphicsKernel, PairsRestartAnywhere) {
  std::uint64_t const seed = std::random_device{}();
  SCOPED_TRACE("positions by seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  Problem const problem(JoinCase{64, test_rows(500), 257, KeyPattern::zipf_both, Nulls::none, 7});
  for (auto const& way : testing::all_ways()) {
    SCOPED_TRACE(way.name);
    auto tuning = tuning_of(way);
    tuning.sizes.stack_layers = 2;
    tuning.sizes.result_extent = 8;
    auto const backend = open(tuning, 64);
    ASSERT_NE(backend, nullptr);
    auto kernel = backend->begin(problem.slice(), 0).value();
    auto const sequence = all_pairs(*kernel);
    problem.expect_pairs(sequence);
    for (int i = 0; i < 20; ++i) {
      auto const first = random() % (sequence.size() + 1);
      auto const count = std::min<std::uint64_t>(random() % 200, sequence.size() - first);
      std::vector<contract::RowPair> window(count);
      ASSERT_TRUE(kernel->pairs(first, window));
      ASSERT_TRUE(std::equal(window.begin(), window.end(), sequence.begin() + static_cast<std::ptrdiff_t>(first)))
          << "first " << first << " count " << count;
    }
    std::vector<contract::RowPair> behind(1);
    EXPECT_THROW((void)kernel->pairs(sequence.size(), behind), LogicError);
  }
}

/// The lowest build row wins a pixel and stacks hold ascending rows, so within one stack slice, which holds all images
/// here, the sequence is the same on every device.
TEST_F(GraphicsKernel, PairsFollowProbeRowsThenBuildRows) {
  testing::JoinKeys keys;
  for (std::uint64_t row = 0; row < test_rows(700); ++row) keys.left.words.push_back(row * 37 % 120);
  for (std::uint64_t row = 0; row < 257; ++row) keys.right.words.push_back(row * 91 % 120);
  Problem const problem(32, keys);
  for (auto const& way : testing::all_ways()) {
    for (auto const build : {BuildSide::left, BuildSide::right}) {
      SCOPED_TRACE(way.name);
      auto tuning = tuning_of(way);
      tuning.build = build;
      tuning.sizes.stack_layers = 24;
      auto const backend = open(tuning, 32);
      ASSERT_NE(backend, nullptr);
      auto kernel = backend->begin(problem.slice(), 0).value();
      auto const pairs = all_pairs(*kernel);
      problem.expect_pairs(pairs);
      EXPECT_TRUE(std::ranges::is_sorted(pairs, [&](contract::RowPair a, contract::RowPair b) {
        return build == BuildSide::right ? a < b : std::pair(a.right, a.left) < std::pair(b.right, b.left);
      }));
    }
  }
  EXPECT_LE(sums().counter("layers"), 24U);
}

TEST_F(GraphicsKernel, CountsByComputeWhereItHasTo) {
  Problem const problem(JoinCase{64, test_rows(300), 257, KeyPattern::zipf_both, Nulls::none, 5});
  for (auto const& way : kWays) {
    SCOPED_TRACE(way.name);
    auto tuning = tuning_of(way);
    tuning.sizes.blends = false;
    tuning.sizes.stack_layers = 3;
    expect_solved(problem, tuning);
  }
  // It was asked for, so there is nothing to remark.
  EXPECT_TRUE(sums().notes().empty());
  auto const items = sums().phase_items();
  EXPECT_EQ(items.at("statistics"), 0U);
}

/// The hash images are drawn, nothing else: no probe row is a point.
TEST_F(GraphicsKernel, FindsMatchesByComputeWhereAsked) {
  Problem const problem(JoinCase{32, test_rows(300), 257, KeyPattern::zipf_both, Nulls::none, 5});
  for (auto const& way : testing::kComputedWays) {
    SCOPED_TRACE(way.name);
    expect_solved(problem, tuning_of(way));
  }
  EXPECT_EQ(sums().counter("compute_matched_slices"), testing::kComputedWays.size());
  auto const items = sums().phase_items();
  EXPECT_GT(items.at("build"), 0U);
  EXPECT_EQ(items.at("count"), 0U);
  EXPECT_EQ(items.at("probe"), 0U);
}

TEST_F(GraphicsKernel, ChoosesDirectStacksForDenseUniqueKeys) {
  Problem const problem(JoinCase{32, test_rows(5'000), test_rows(4'000), KeyPattern::dense_unique, Nulls::none, 1});
  expect_solved(problem, {});
  EXPECT_EQ(sums().counter("layers"), 1U);
  EXPECT_EQ(sums().counter("direct_slices"), 1U);
  // The smaller side does not clash: the other one's statistics are not asked for.
  EXPECT_EQ(sums().phase_items().at("statistics"), std::min(test_rows(5'000), test_rows(4'000)));
}

TEST_F(GraphicsKernel, ChoosesRunsForRepeatedKeys) {
  Problem const problem(JoinCase{64, 200, 257, KeyPattern::all_equal, Nulls::none, 1});
  expect_solved(problem, {});
  EXPECT_EQ(sums().counter("run_slices"), 1U);
  EXPECT_EQ(sums().counter("stack_slices"), 0U);
}

/// Both sides' statistics are compared when the smaller side would take a tall stack (GARUDA §3.4.3).
TEST_F(GraphicsKernel, BuildsOnTheSideWithTheLowerStack) {
  testing::JoinKeys keys;
  keys.left.words.assign(100, 7);
  for (std::uint64_t i = 0; i < 200; ++i) keys.right.words.push_back(i);
  Problem const problem(32, keys);
  SizedTuning tuning;
  tuning.storage = Storage::stack;
  expect_solved(problem, tuning);
  EXPECT_EQ(sums().counter("layers"), 1U);
  EXPECT_EQ(sums().phase_items().at("statistics"), 300U);
}

TEST_F(GraphicsKernel, UploadsInEveryMode) {
  Problem const problem(JoinCase{64, test_rows(40'000), 257, KeyPattern::random_unique, Nulls::none, 1});
  std::uint64_t copies = 0;
  for (auto const upload : {Upload::automatic, Upload::map, Upload::stage, Upload::import}) {
    SCOPED_TRACE(static_cast<int>(upload));
    SizedTuning tuning;
    tuning.upload = upload;
    contract::BackendOptions options;
    options.tuning = tuning;
    options.key_bits = 64;
    auto const opened = open_graphics_join(device(), store(), options);
    auto const& traits = device().traits();
    bool const possible = upload == Upload::map      ? traits.device_memory_mappable()
                          : upload == Upload::import ? traits.features.external_memory_host
                                                     : true;
    ASSERT_EQ(opened.has_value(), possible);
    if (possible) {
      expect_solved(problem, tuning);
    } else {
      EXPECT_EQ(opened.error().code(), ErrorCode::no_device);
    }
    bool const in_place =
        upload == Upload::import || (upload == Upload::automatic && device().traits().imports_in_place());
    if (possible && !in_place) ++copies;
  }
  EXPECT_GE(sums().phase_bytes().at("upload"), copies * 8 * test_rows(40'000));
}

TEST_F(GraphicsKernel, LanesRunSideBySide) {
  auto const backend = open({}, 32, 2);
  ASSERT_NE(backend, nullptr);
  auto const run = [&](std::uint32_t lane, KeyPattern pattern) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      Problem const problem(JoinCase{32, 100 + seed, 257, pattern, Nulls::none, seed});
      auto kernel = backend->begin(problem.slice(), lane);
      ASSERT_TRUE(kernel) << kernel.error().describe();
      problem.expect_solved_by(**kernel, 100);
    }
  };
  std::thread other([&] { run(1, KeyPattern::zipf_both); });
  run(0, KeyPattern::dense_unique);
  other.join();
}

/// 70 000 × 70 000 equal keys: 4.9e9 pairs, counted at once and reachable at any position.
TEST_F(GraphicsKernel, CountsBeyond32BitsWithoutEnumerating) {
  constexpr std::uint64_t kRows = 70'000;
  if (testing::max_test_rows() < kRows) GTEST_SKIP() << "more rows than GARUDA_TEST_MAX_ROWS";
  std::vector<std::uint32_t> const keys(kRows, 42);
  contract::KeySpan side;
  side.words = std::span<std::uint32_t const>(keys);
  side.min = side.max = 42;
  for (auto const address : {Address::direct, Address::hash}) {
    SizedTuning tuning;
    tuning.address = address;
    tuning.sizes.result_extent = 64;
    auto const backend = open(tuning, 32);
    ASSERT_NE(backend, nullptr);
    auto kernel = backend->begin({side, side, 0}, 0).value();
    ASSERT_EQ(kernel->count().value(), 4'900'000'000U);
    // Position p is probe row p / 70 000, build row p % 70 000, here across the 2^32nd pair and at the end.
    for (std::uint64_t const first : {(std::uint64_t{1} << 32) - 3, std::uint64_t{4'899'999'994}}) {
      std::vector<contract::RowPair> pairs(6);
      ASSERT_TRUE(kernel->pairs(first, pairs));
      for (std::uint64_t i = 0; i < pairs.size(); ++i) {
        // Both sides have as many rows: the left one is built on.
        EXPECT_EQ(pairs[i].right, (first + i) / kRows);
        EXPECT_EQ(pairs[i].left, (first + i) % kRows);
      }
    }
    auto const marks = kernel->mark(Side::left).value();
    EXPECT_TRUE(std::all_of(marks.begin(), marks.end() - 1, [](std::uint64_t word) { return word == ~0ULL; }));
  }
}

/// Hash images of 4 pixels: runs of thousands of distinct keys, which take the merge of blocks.
TEST_F(GraphicsKernel, SortsLongRuns) {
  for (std::uint32_t const key_bits : {32U, 64U}) {
    for (auto const pattern : {KeyPattern::random_unique, KeyPattern::zipf_both}) {
      Problem const problem(JoinCase{key_bits, test_rows(20'011), test_rows(4'099), pattern, Nulls::none, 1});
      SizedTuning tuning;
      tuning.address = Address::hash;
      tuning.storage = Storage::runs;
      tuning.sizes.hash_extent = 2;
      for (auto const build : {BuildSide::left, BuildSide::right}) {
        tuning.build = build;
        SCOPED_TRACE(std::string(to_string(pattern)) + " u" + std::to_string(key_bits));
        expect_solved(problem, tuning);
      }
    }
  }
}

TEST_F(GraphicsKernel, RefusesWhatCannotRun) {
  contract::BackendOptions options;
  options.tuning.storage = Storage::runs;
  options.tuning.probe = Probe::instanced;
  auto const contradictory = open_graphics_join(device(), store(), options);
  ASSERT_FALSE(contradictory);
  EXPECT_EQ(contradictory.error().code(), ErrorCode::usage);
  EXPECT_NE(contradictory.error().message().find("storage=runs"), std::string::npos);

  Problem const wide(JoinCase{64, 100, 100, KeyPattern::random_unique, Nulls::none, 1});
  SizedTuning direct;
  direct.address = Address::direct;
  auto const backend = open(direct, 64);
  ASSERT_NE(backend, nullptr);
  auto const kernel = backend->begin(wide.slice(), 0);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().code(), ErrorCode::usage);
  EXPECT_NE(kernel.error().message().find("address=direct"), std::string::npos);
}

TEST_F(GraphicsKernel, StaysWithinItsMemory) {
  Problem const problem(JoinCase{32, 257, 257, KeyPattern::all_equal, Nulls::none, 1});
  contract::BackendOptions options;
  options.tuning.address = Address::hash;
  options.tuning.storage = Storage::stack;
  ImageSizes sizes;
  sizes.stack_layers = 24;
  sizes.result_extent = 64;
  // Room for the tables and a few images of 32 × 32 pixels of 8 bytes: slices get fewer images, not errors.
  options.device_memory_limit_bytes = 200'000;
  testing::Sums sums;
  options.stats = &sums;
  auto const tight = open_graphics_join(device(), store(), options, sizes);
  ASSERT_TRUE(tight) << tight.error().describe();
  auto kernel = (*tight)->begin(problem.slice(), 0);
  ASSERT_TRUE(kernel) << kernel.error().describe();
  problem.expect_solved_by(**kernel, 10'000);
  EXPECT_GT(sums.counter("stack_slices"), 257U / 24 + 1);

  options.device_memory_limit_bytes = 4'000;
  auto const too_little = open_graphics_join(device(), store(), options, sizes);
  ASSERT_TRUE(too_little) << too_little.error().describe();
  auto refused = (*too_little)->begin(problem.slice(), 0);
  if (refused) {
    auto const count = (*refused)->count();
    ASSERT_FALSE(count);
    EXPECT_EQ(count.error().code(), ErrorCode::limit_exceeded) << count.error().describe();
  } else {
    EXPECT_EQ(refused.error().code(), ErrorCode::limit_exceeded) << refused.error().describe();
  }
}

/// Memory runs out at the n-th allocation, for every n: an error each time, and the next join is right again.
TEST_F(GraphicsKernel, SurvivesFailedAllocations) {
  Problem const problem(JoinCase{32, 60, 50, KeyPattern::zipf_both, Nulls::none, 1});
  for (auto const& way : kWays) {
    SCOPED_TRACE(way.name);
    auto const backend = open(tuning_of(way), 32);
    ASSERT_NE(backend, nullptr);
    auto const run = [&]() -> Result<void> {
      GARUDA_TRY_ASSIGN(auto kernel, backend->begin(problem.slice(), 0));
      GARUDA_TRY_ASSIGN(auto const count, kernel->count());
      std::vector<contract::RowPair> pairs(count);
      GARUDA_TRY(kernel->pairs(0, pairs));
      GARUDA_TRY(kernel->mark(Side::left));
      GARUDA_TRY(kernel->mark(Side::right));
      return {};
    };
    std::uint64_t failures = 0;
    for (std::uint64_t n = 1; n < 200; ++n) {
      device().memory().inject_failure(n);
      auto const outcome = run();
      if (device().memory().failure_pending()) break;
      // A block that cannot be had is asked for again, smaller: that failure does not come through.
      if (outcome) continue;
      ++failures;
      ASSERT_EQ(outcome.error().code(), ErrorCode::out_of_memory) << outcome.error().describe();
    }
    device().memory().inject_failure(std::nullopt);
    EXPECT_GT(failures, 5U);
    auto kernel = backend->begin(problem.slice(), 0);
    ASSERT_TRUE(kernel) << kernel.error().describe();
    problem.expect_solved_by(**kernel, 1'000);
  }
}

TEST_F(GraphicsKernel, StopsWhenCancelled) {
  Problem const problem(JoinCase{32, 257, 257, KeyPattern::all_equal, Nulls::none, 1});
  std::atomic<bool> cancelled = false;
  Control control;
  control.cancelled = &cancelled;
  contract::BackendOptions options;
  options.tuning.storage = Storage::stack;
  options.control = &control;
  ImageSizes sizes;
  sizes.stack_layers = 1;
  auto const backend = open_graphics_join(device(), store(), options, sizes);
  ASSERT_TRUE(backend) << backend.error().describe();
  auto kernel = (*backend)->begin(problem.slice(), 0).value();
  cancelled = true;
  auto const count = kernel->count();
  ASSERT_FALSE(count);
  EXPECT_EQ(count.error().code(), ErrorCode::cancelled);
  kernel.reset();
  cancelled = false;
  kernel = (*backend)->begin(problem.slice(), 0).value();
  EXPECT_EQ(kernel->count().value(), problem.count());
}

}  // namespace
}  // namespace garuda::graphics
