// The compute join against the oracle: kernels over sizes, distributions and forced overflows; joins of resident
// tables.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <variant>

#include "operators/compute/join/compute_join.hpp"
#include "operators/compute/join/indexed_join.hpp"
#include "operators/compute/join/resident_join.hpp"
#include "operators/compute/join/rows_join.hpp"
#include "tests/compute/compute_device.hpp"
#include "tests/engine/counters.hpp"
#include "tests/graphics/graphics_problem.hpp"

namespace garuda::compute {
namespace {

using testing::ComputeLane;
using testing::JoinCase;
using testing::KeyPattern;
using testing::Nulls;
using testing::Problem;
using testing::succeed;
using testing::value_of;

/// Chunks of 64 to 128 rows in tables of 128 slots: a few hundred rows make many partitions, several chunks of a heavy
/// one, several tasks a workgroup.
ComputeTuning tiny_tuning(ComputeTuning tuning) {
  auto& join = tuning.join;
  join.group_size = std::max(32U, tuning.subgroup_size);
  join.items = 64 / join.group_size == 0 ? 1 : 64 / join.group_size;
  join.log2_slots = 8;
  join.groups = 2;
  join.tasks = 3;
  return tuning;
}

class ComputeJoin : public testing::ComputeDeviceTest {
 protected:
  void SetUp() override {
    auto lane = vk::Lane::create(device(), {});
    ASSERT_TRUE(lane) << lane.error().describe();
    lane_ = std::move(*lane);
  }
  void TearDown() override {
    lane_.reset();
    ComputeDeviceTest::TearDown();
  }

  void expect_solved(JoinCase const& join_case, ComputeTuning const& tuning, BuildSide build, std::uint64_t piece,
                     JoinMethod method = JoinMethod::partitioned) {
    SCOPED_TRACE(to_string(join_case) + ", method " + std::to_string(static_cast<int>(method)) + ", chunks of " +
                 std::to_string(join_chunk_rows(tuning)) + ", subgroup " + std::to_string(tuning.subgroup_size) +
                 ", build " + std::to_string(static_cast<int>(build)));
    Problem const problem(join_case);
    contract::BackendOptions options;
    options.tuning.build = build;
    options.tuning.method = method;
    options.key_bits = join_case.key_bits;
    succeed(lane_->reset());
    auto kernel = start_slice({*lane_, std::uint64_t{1} << 31}, store(), tuning, options, problem.slice());
    ASSERT_TRUE(kernel) << kernel.error().describe();
    problem.expect_solved_by(**kernel, piece);
  }

 private:
  std::unique_ptr<vk::Lane> lane_;
};

constexpr std::array kMethods{JoinMethod::partitioned, JoinMethod::global};
constexpr std::array kBuildSides{BuildSide::automatic, BuildSide::left, BuildSide::right};

/// A kernel never sees nulls, which only vary the keys: cases with nulls take turns.
TEST_F(ComputeJoin, EverySmallCase) {
  auto const usual = tuning();
  auto const tiny = tiny_tuning(usual);
  std::uint64_t turn = 0;
  for (auto const& join_case : testing::small_cases()) {
    if (std::max(join_case.left_rows, join_case.right_rows) > testing::max_test_rows()) continue;
    ++turn;
    if (!testing::takes_case(turn)) continue;
    if (join_case.nulls != Nulls::none && turn % 8 != 0 && !testing::full_tests()) continue;
    bool const is_small = std::max(join_case.left_rows, join_case.right_rows) < 255;
    auto const method = kMethods[turn % 7 % 2];
    expect_solved(join_case, is_small || turn % 4 == 0 ? usual : tiny, kBuildSides[turn % 3], 1 + turn % 1'000, method);
    if (HasFailure()) return;
  }
}

class ComputeJoinSubgroups : public ComputeJoin, public ::testing::WithParamInterface<std::uint32_t> {};

INSTANTIATE_TEST_SUITE_P(Sizes, ComputeJoinSubgroups, ::testing::Values(4, 8, 16, 32, 64, 128),
                         ::testing::PrintToStringParamName());

/// Sizes that the device does not give are skipped, with those that it gives.
TEST_P(ComputeJoinSubgroups, EveryKindOfPartition) {
  auto const of_size = compute_tuning(device().traits(), GetParam());
  if (!of_size) GTEST_SKIP() << of_size.error().describe();
  std::size_t turn = 0;
  auto const tuning = tiny_tuning(*of_size);
  for (auto const key_bits : {32U, 64U})
    for (auto const pattern : {KeyPattern::random_unique, KeyPattern::zipf_both, KeyPattern::all_equal}) {
      JoinCase const join_case{key_bits, 700, 900, pattern, Nulls::none, 3};
      expect_solved(join_case, tuning, BuildSide::automatic, 5'000);
      if (key_bits == 32) expect_solved(join_case, tuning, BuildSide::automatic, 5'000, kMethods[turn++ % 2]);
      if (HasFailure()) return;
    }
}

TEST_F(ComputeJoin, LargeCases) {
  std::uint64_t turn = 0;
  for (auto const& join_case : testing::large_cases()) {
    if (std::max(join_case.left_rows, join_case.right_rows) > testing::max_test_rows()) continue;
    if (!testing::is_affordable(join_case.pattern, join_case.left_rows, join_case.right_rows)) continue;
    ++turn;
    if (turn % 3 != 0 && !testing::full_tests()) continue;
    bool const is_long = join_case.left_rows == 1'000'000 || join_case.left_rows == 3'000 || turn % 2 == 0;
    if (is_long && !testing::takes_large_case()) continue;
    expect_solved(join_case, tuning(), kBuildSides[turn / 3 % 3], 1'000'003, kMethods[turn % 7 % 2]);
    if (HasFailure()) return;
  }
}

/// Pairs come by rows of the probe side, then of the build side; keys may differ in one bit, or in all.
TEST_F(ComputeJoin, GlobalPairsAscendByProbeRow) {
  for (auto const key_bits : {32U, 64U}) {
    for (auto const pattern : {KeyPattern::extremes, KeyPattern::zipf_both, KeyPattern::stride_2_16}) {
      Problem const problem(JoinCase{key_bits, 150, 250, pattern, Nulls::none, 5});
      contract::BackendOptions options;
      options.tuning.method = JoinMethod::global;
      options.tuning.build = BuildSide::left;
      auto backend = open_compute_join(device(), store(), options);
      ASSERT_TRUE(backend) << backend.error().describe();
      auto kernel = value_of((*backend)->begin(problem.slice(), 0));
      std::vector<contract::RowPair> pairs(value_of(kernel->count()));
      succeed(kernel->pairs(0, pairs));
      problem.expect_pairs(pairs);
      EXPECT_TRUE(std::ranges::is_sorted(
          pairs, {}, [](contract::RowPair const& pair) { return std::tuple(pair.right, pair.left); }));
    }
  }
}

/// Dispatches of growing size share the tasks where all in one may take too long, and none is lost or done twice.
TEST_F(ComputeJoin, TasksAreSharedAmongDispatches) {
  if (testing::max_test_rows() < 150'000) GTEST_SKIP() << "more rows than GARUDA_TEST_MAX_ROWS";
  if (device().traits().type != vk::DeviceType::cpu) GTEST_SKIP() << "a GPU takes so few rows at once";
  auto const dispatches = [](JoinCase const& join) {
    testing::Counters counters;
    contract::BackendOptions options;
    options.tuning.method = JoinMethod::partitioned;
    options.stats = &counters;
    Problem const problem(join);
    auto const backend = value_of(open_compute_join(device(), store(), options));
    auto const kernel = value_of(backend->begin(problem.slice(), 0));
    problem.expect_solved_by(*kernel, 1'000'003);
    return counters.value("join_parts");
  };
  constexpr std::uint64_t kSecond = 1'000'000'000;
  for (int i = 0; i < 50; ++i) device().pace().took("join", kSecond, 1, vk::ClockSource::host);  // as fast as it gets
  EXPECT_EQ(dispatches({32, 100, 150, KeyPattern::random_unique, Nulls::none, 1}), 1U);
  EXPECT_GT(dispatches({32, 100'000, 150'000, KeyPattern::random_unique, Nulls::none, 1}), 1U);
  EXPECT_GT(dispatches({32, 100'000, 150'000, KeyPattern::zipf_both, Nulls::none, 1}), 1U);
  EXPECT_GT(dispatches({32, 2'800, 3'500, KeyPattern::all_equal, Nulls::none, 1}), 1U);
}

TEST_F(ComputeJoin, RestartsAtAnyPairOfAnyWindow) {
  if (testing::max_test_rows() < 3'000) GTEST_SKIP() << "more rows than GARUDA_TEST_MAX_ROWS";
  Problem const problem(JoinCase{32, 1'800, 2'500, KeyPattern::all_equal, Nulls::none, 1});
  contract::BackendOptions options;
  auto backend = open_compute_join(device(), store(), options);
  ASSERT_TRUE(backend) << backend.error().describe();
  auto kernel = value_of((*backend)->begin(problem.slice(), 0));
  auto const count = value_of(kernel->count());
  ASSERT_EQ(count, 4'500'000U);
  std::vector<contract::RowPair> all(count);
  succeed(kernel->pairs(0, all));
  problem.expect_pairs(all);
  for (std::uint64_t const first : {std::uint64_t{4'000'001}, std::uint64_t{17}, std::uint64_t{2'097'100}}) {
    std::vector<contract::RowPair> some(300'000);
    succeed(kernel->pairs(first, some));
    auto const [found, expected] =
        std::mismatch(some.begin(), some.end(), all.begin() + static_cast<std::ptrdiff_t>(first));
    EXPECT_EQ(found, some.end()) << "pair " << expected - all.begin() << " read from " << first << ": (" << found->left
                                 << ", " << found->right << "), not (" << expected->left << ", " << expected->right
                                 << ")";
  }
}

/// Counts take no room for pairs, and say how many there are where these do not fit.
TEST_F(ComputeJoin, CountsWithoutRoomForPairs) {
  Problem const problem(JoinCase{32, 900, 1'200, KeyPattern::all_equal, Nulls::none, 1});
  for (auto const method : kMethods)
    for (bool const pairs_wanted : {false, true}) {
      contract::BackendOptions options;
      options.tuning.method = method;
      options.pairs_wanted = pairs_wanted;
      options.device_memory_limit_bytes = std::uint64_t{4} << 20;
      auto backend = open_compute_join(device(), store(), options);
      ASSERT_TRUE(backend) << backend.error().describe();
      auto kernel = value_of((*backend)->begin(problem.slice(), 0));
      EXPECT_EQ(value_of(kernel->count()), problem.count());
      for (auto const side : {Side::left, Side::right}) problem.expect_marks(value_of(kernel->mark(side)), side);
      std::vector<contract::RowPair> pairs(1);
      if (pairs_wanted) {
        EXPECT_EQ(kernel->pairs(0, pairs).error().code(), ErrorCode::limit_exceeded);
      }
    }
}

/// Columns of words, and the device's copies of them.
struct HostTable {
  std::uint32_t key_words = 1;
  std::vector<std::uint64_t> keys;
  std::vector<std::uint32_t> column_words;
  std::vector<std::vector<std::uint32_t>> columns;
};

HostTable make_table(std::size_t rows, std::uint32_t key_words, std::uint64_t distinct,
                     std::vector<std::uint32_t> words, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  HostTable table{key_words, {}, std::move(words), {}};
  for (std::size_t i = 0; i < rows; ++i) {
    // Distinct keys far apart, in both words.
    auto const key = (random() % distinct) * 0x9e3779b97f4a7c15;
    table.keys.push_back(key_words == 1 ? static_cast<std::uint32_t>(key) : key);
  }
  for (auto const count : table.column_words) {
    auto& column = table.columns.emplace_back(rows * count);
    for (auto& word : column) word = static_cast<std::uint32_t>(random());
  }
  return table;
}

using Row = std::vector<std::uint32_t>;

void append(Row& row, HostTable const& table, std::size_t at) {
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    for (std::uint32_t word = 0; word < table.column_words[c]; ++word)
      row.push_back(table.columns[c][at * table.column_words[c] + word]);
}

std::vector<Row> expected_rows(HostTable const& left, HostTable const& right) {
  std::multimap<std::uint64_t, std::size_t> rows;
  for (std::size_t i = 0; i < left.keys.size(); ++i) rows.emplace(left.keys[i], i);
  std::vector<Row> joined;
  for (std::size_t r = 0; r < right.keys.size(); ++r) {
    auto const [first, last] = rows.equal_range(right.keys[r]);
    for (auto match = first; match != last; ++match) {
      Row row{static_cast<std::uint32_t>(right.keys[r])};
      if (right.key_words == 2) row.push_back(static_cast<std::uint32_t>(right.keys[r] >> 32));
      append(row, left, match->second);
      append(row, right, r);
      joined.push_back(std::move(row));
    }
  }
  std::ranges::sort(joined);
  return joined;
}

class ResidentJoinTest : public testing::ComputeDeviceTest {
 protected:
  static DeviceRows upload(ComputeLane& lane, HostTable const& table, std::vector<vk::Buffer>& buffers) {
    std::vector<std::uint32_t> keys;
    for (auto const key : table.keys) {
      keys.push_back(static_cast<std::uint32_t>(key));
      if (table.key_words == 2) keys.push_back(static_cast<std::uint32_t>(key >> 32));
    }
    DeviceRows rows;
    rows.rows = table.keys.size();
    buffers.push_back(lane.upload(keys));
    rows.keys = {buffers.back().address(), table.key_words};
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      buffers.push_back(lane.upload(table.columns[c]));
      rows.payload.push_back({buffers.back().address(), table.column_words[c]});
    }
    return rows;
  }

  static void expect_joined(ComputeTuning const& tuning, ResidentJoinStrategy const& way, HostTable const& left,
                            HostTable const& right, std::uint64_t expected_rows_first) {
    SCOPED_TRACE(::testing::Message() << left.keys.size() << " × " << right.keys.size() << " rows, chunks of "
                                      << join_chunk_rows(tuning) << ", key words " << left.key_words << ", room for "
                                      << expected_rows_first << ", method " << static_cast<int>(way.method)
                                      << (way.gathers ? ", gathers" : ""));
    ComputeLane lane(device(), store(), tuning);
    std::vector<vk::Buffer> buffers;
    auto left_rows = upload(lane, left, buffers);
    auto right_rows = upload(lane, right, buffers);
    auto join = value_of(
        ResidentJoin::create(lane.context(), std::move(left_rows), std::move(right_rows), expected_rows_first, way));
    auto const expected = expected_rows(left, right);
    // The join runs twice: nothing of the first run may be left over.
    for (int run = 0; run < 2; ++run) {
      succeed(join.record(lane.context()));
      succeed(join.finish(lane.context()));
      auto const& result = join.result();
      ASSERT_EQ(result.rows, expected.size());
      std::vector<Row> rows(result.rows);
      auto const take = [&](vk::Buffer const& buffer, std::uint32_t words) {
        auto const column = lane.download<std::uint32_t>(buffer, result.rows * words);
        for (std::size_t i = 0; i < rows.size(); ++i)
          rows[i].insert(rows[i].end(), column.begin() + static_cast<std::ptrdiff_t>(i * words),
                         column.begin() + static_cast<std::ptrdiff_t>((i + 1) * words));
      };
      take(result.keys, left.key_words);
      for (std::size_t c = 0; c < result.left.size(); ++c) take(result.left[c], left.column_words[c]);
      for (std::size_t c = 0; c < result.right.size(); ++c) take(result.right[c], right.column_words[c]);
      std::ranges::sort(rows);
      ASSERT_EQ(rows, expected);
    }
  }
};

constexpr std::array kResidentStrategies{
    ResidentJoinStrategy{JoinMethod::partitioned, false}, ResidentJoinStrategy{JoinMethod::partitioned, true},
    ResidentJoinStrategy{JoinMethod::global}, ResidentJoinStrategy{JoinMethod::global, false, Side::right}};

TEST_F(ResidentJoinTest, JoinsEveryShape) {
  auto const usual = tuning();
  auto const tiny = tiny_tuning(usual);
  for (auto const& way : kResidentStrategies) {
    for (auto const& chosen : {usual, tiny}) {
      // Only partitions and their tasks are cut by the tuning.
      if (way.method != JoinMethod::partitioned && chosen == tiny) continue;
      for (std::uint32_t const key_words : {1U, 2U}) {
        if (!testing::full_tests() && way.method == JoinMethod::global && way.build.has_value() == (key_words == 1))
          continue;
        bool const has_turn = (chosen == tiny) == (key_words == 1);
        if (way.method == JoinMethod::partitioned && !has_turn && !testing::takes_large_case()) continue;
        auto const expect = [&](HostTable const& left, HostTable const& right, std::uint64_t room) {
          expect_joined(chosen, way, left, right, room);
        };
        // Unique-ish, many to many, one heavy key on one side, on both sides; no rows; no payload.
        expect(make_table(900, key_words, 1 << 20, {1}, 1), make_table(1'300, key_words, 1 << 20, {1}, 2), 1'300);
        expect(make_table(900, key_words, 400, {1, 2, 4}, 3), make_table(700, key_words, 400, {2}, 4), 10'000);
        expect(make_table(900, key_words, 600, {1, 2, 4}, 11), make_table(700, key_words, 600, {2}, 12), 1'700);
        expect(make_table(1, key_words, 1, {1}, 5), make_table(1'000, key_words, 1, {}, 6), 1'000);
        expect(make_table(400, key_words, 1, {}, 7), make_table(300, key_words, 1, {1}, 8), 120'000);
        expect(make_table(0, key_words, 1, {1}, 9), make_table(300, key_words, 9, {1}, 10), 1);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(ResidentJoinTest, TakesMoreRoomWhenTheResultDoesNotFit) {
  auto const tiny = tiny_tuning(tuning());
  for (auto const& way : kResidentStrategies) {
    expect_joined(tiny, way, make_table(900, 1, 300, {1, 3}, 1), make_table(700, 1, 300, {1}, 2), 1);
    // More tasks than one side's skew makes, and more rows than were expected.
    expect_joined(tiny, way, make_table(500, 1, 1, {1}, 3), make_table(400, 1, 1, {}, 4), 10);
  }
}

/// Every workgroup of the expansion finds its probe rows anew: few matches far apart, many of one row.
TEST_F(ResidentJoinTest, ExpandsRowsThatAreFarApart) {
  auto sparse = make_table(20'000, 1, 1, {1}, 1);
  for (std::size_t i = 0; i < sparse.keys.size(); ++i)
    sparse.keys[i] = i % 6'001 == 17 ? 7 : static_cast<std::uint32_t>(1'000 + i);
  auto few = make_table(2'500, 1, 1, {2}, 2);
  for (auto& key : few.keys) key = 7;
  for (auto const build : {Side::left, Side::right})
    expect_joined(tuning(), {JoinMethod::global, false, build}, sparse, few, 20'000);
}

TEST_F(ResidentJoinTest, EstimatesMatchesFromASample) {
  ComputeLane lane(device(), store(), tuning());
  std::vector<vk::Buffer> buffers;
  auto const estimate = [&](HostTable const& build, HostTable const& probe) {
    return value_of(estimate_matches(lane.context(), upload(lane, build, buffers), upload(lane, probe, buffers)));
  };
  // All probe rows are in the sample: the number is right.
  EXPECT_EQ(estimate(make_table(900, 1, 300, {}, 1), make_table(700, 1, 300, {}, 2)),
            static_cast<double>(expected_rows(make_table(900, 1, 300, {}, 1), make_table(700, 1, 300, {}, 2)).size()));
  EXPECT_EQ(estimate(make_table(0, 1, 1, {}, 1), make_table(700, 1, 300, {}, 2)), 0);
  auto const build = make_table(5'000, 2, 2'000, {}, 3);
  auto const probe = make_table(50'000, 2, 4'000, {}, 4);
  auto const rows = static_cast<double>(expected_rows(build, probe).size());
  EXPECT_NEAR(estimate(build, probe), rows, rows / 10);
}

}  // namespace
}  // namespace garuda::compute
