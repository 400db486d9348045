#include "operators/cpu/join/cpu_join.hpp"

#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <string>

#include "operators/cpu/join/join_table.hpp"
#include "partition/radix_partition.hpp"
#include "tests/reference/reference_join.hpp"
#include "tests/workloads/workloads.hpp"

namespace garuda::cpu {
namespace {

using reference::Keys;
using reference::RowPair64;
using testing::JoinCase;
using testing::KeyPattern;
using testing::Nulls;
using testing::SliceSide;

constexpr BuildSide kBuildSides[] = {BuildSide::automatic, BuildSide::left, BuildSide::right};

/// Adds up what the kernels report.
class PhaseSums final : public contract::StatsSink {
 public:
  void add_phase(std::string_view name, std::uint64_t, std::uint64_t, std::uint64_t items) override {
    std::lock_guard const lock(mutex_);
    items_[std::string(name)] += items;
  }
  void add_counter(std::string_view, std::uint64_t) override {}
  void max_counter(std::string_view, std::uint64_t) override {}
  void note(std::string) override {}
  std::map<std::string, std::uint64_t> items() const { return items_; }

 private:
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> items_;
};

struct OpenKernel {
  std::unique_ptr<contract::JoinBackend> backend;
  std::unique_ptr<contract::JoinKernel> kernel;
};

OpenKernel open(contract::KeySpan left, contract::KeySpan right, contract::BackendOptions options = {}) {
  options.key_bits = std::holds_alternative<std::span<std::uint32_t const>>(left.words) ? 32 : 64;
  OpenKernel open;
  open.backend = open_cpu_join(options).value();
  open.kernel = open.backend->begin({left, right, 0}, 0).value();
  return open;
}

std::vector<contract::RowPair> all_pairs(contract::JoinKernel& kernel, std::uint64_t window) {
  auto const count = kernel.count().value();
  std::vector<contract::RowPair> pairs(count);
  for (std::uint64_t first = 0; first < count; first += window)
    EXPECT_TRUE(kernel.pairs(first, std::span(pairs).subspan(first, std::min(window, count - first))));
  return pairs;
}

/// Everything that the kernel says of a case, against the oracle.
void expect_correct(JoinCase const& join_case, BuildSide build, std::uint64_t window) {
  SCOPED_TRACE(to_string(join_case) + " build=" + std::to_string(static_cast<int>(build)));
  auto const keys = testing::make_keys(join_case);
  auto const expected = reference::reference_join(keys.left, keys.right);
  ASSERT_EQ(reference::reference_count(keys.left, keys.right), expected.size());
  SliceSide const left(keys.left, join_case.key_bits);
  SliceSide const right(keys.right, join_case.key_bits);
  contract::BackendOptions options;
  options.tuning.build = build;
  auto const [backend, kernel] = open(left.span(), right.span(), options);
  ASSERT_EQ(kernel->count().value(), expected.size());
  auto pairs = testing::table_rows(all_pairs(*kernel, window), left, right);
  std::sort(pairs.begin(), pairs.end());
  ASSERT_TRUE(pairs == expected);
  for (auto const side : {Side::left, Side::right}) {
    auto const& side_keys = side == Side::left ? keys.left : keys.right;
    auto const marks =
        testing::table_marks(kernel->mark(side).value(), side == Side::left ? left : right, side_keys.words.size());
    ASSERT_EQ(marks, reference::reference_mark(keys.left, keys.right, side));
  }
}

TEST(CpuJoin, EverySmallCase) {
  for (auto const& join_case : testing::small_cases()) {
    if (std::max(join_case.left_rows, join_case.right_rows) > testing::max_test_rows()) continue;
    if (!testing::takes_case(join_case.seed)) continue;
    for (auto const build : kBuildSides) {
      expect_correct(join_case, build, 1 + join_case.seed % 1'000);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(CpuJoin, LargeCases) {
  auto const cases = testing::large_cases();
  std::size_t run = 0;
  for (auto const& join_case : cases) {
    if (std::max(join_case.left_rows, join_case.right_rows) > testing::max_test_rows()) continue;
    ++run;
    if (!testing::takes_every_second(run / 3)) continue;
    expect_correct(join_case, kBuildSides[run % 3], 100'003);
    if (HasFatalFailure()) return;
  }
  if (run == 0) GTEST_SKIP() << "all " << cases.size() << " cases have more rows than GARUDA_TEST_MAX_ROWS";
}

TEST(CpuJoin, PairsRestartAnywhere) {
  for (auto const pattern : {KeyPattern::zipf_both, KeyPattern::all_equal, KeyPattern::random_unique}) {
    JoinCase const join_case{64, 2'999, 1'500, pattern, Nulls::right, 7};
    auto const keys = testing::make_keys(join_case);
    SliceSide const left(keys.left, 64);
    SliceSide const right(keys.right, 64);
    auto const first_open = open(left.span(), right.span());
    auto const sequence = all_pairs(*first_open.kernel, std::uint64_t{1} << 40);
    auto const second_open = open(left.span(), right.span());
    auto& kernel = *second_open.kernel;
    std::uint64_t const seed = std::random_device{}();
    SCOPED_TRACE(to_string(join_case) + ", positions by seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    for (int i = 0; i < 200; ++i) {
      auto const first = random() % (sequence.size() + 1);
      auto const count =
          std::min<std::uint64_t>(random() % (i % 10 == 0 ? sequence.size() + 1 : 100), sequence.size() - first);
      std::vector<contract::RowPair> window(count);
      ASSERT_TRUE(kernel.pairs(first, window));
      ASSERT_TRUE(std::equal(window.begin(), window.end(), sequence.begin() + static_cast<std::ptrdiff_t>(first)))
          << "first " << first << " count " << count;
    }
    std::vector<contract::RowPair> behind(1);
    EXPECT_THROW((void)kernel.pairs(sequence.size(), behind), LogicError);
  }
}

TEST(CpuJoin, PairsFollowProbeRowsThenBuildRows) {
  auto const keys = testing::make_keys({32, 2'000, 3'000, KeyPattern::zipf_both, Nulls::none, 3});
  SliceSide const left(keys.left, 32);
  SliceSide const right(keys.right, 32);
  for (auto const build : {BuildSide::left, BuildSide::right}) {
    contract::BackendOptions options;
    options.tuning.build = build;
    auto const [backend, kernel] = open(left.span(), right.span(), options);
    auto const pairs = all_pairs(*kernel, 1'000);
    EXPECT_TRUE(std::is_sorted(pairs.begin(), pairs.end(), [&](contract::RowPair a, contract::RowPair b) {
      return build == BuildSide::right ? a < b : std::pair(a.right, a.left) < std::pair(b.right, b.left);
    }));
  }
}

TEST(CpuJoin, BuildsOnTheSmallerSideUnlessTold) {
  std::vector<std::uint32_t> const small{1, 2};
  std::vector<std::uint32_t> const large{1, 2, 3};
  auto const build_rows = [&](auto const& left, auto const& right, BuildSide build) {
    PhaseSums sums;
    contract::BackendOptions options;
    options.stats = &sums;
    options.tuning.build = build;
    contract::KeySpan left_span;
    contract::KeySpan right_span;
    left_span.words = std::span<std::uint32_t const>(left);
    right_span.words = std::span<std::uint32_t const>(right);
    auto const [backend, kernel] = open(left_span, right_span, options);
    return sums.items().at("build");
  };
  EXPECT_EQ(build_rows(small, large, BuildSide::automatic), 2U);
  EXPECT_EQ(build_rows(large, small, BuildSide::automatic), 2U);
  EXPECT_EQ(build_rows(large, small, BuildSide::left), 3U);
  EXPECT_EQ(build_rows(small, large, BuildSide::right), 3U);
}

TEST(CpuJoin, ReportsItsPhases) {
  auto const keys = testing::make_keys({32, 100, 300, KeyPattern::dense_unique, Nulls::none, 1});
  SliceSide const left(keys.left, 32);
  SliceSide const right(keys.right, 32);
  PhaseSums sums;
  contract::BackendOptions options;
  options.stats = &sums;
  auto const [backend, kernel] = open(left.span(), right.span(), options);
  all_pairs(*kernel, 60);
  ASSERT_TRUE(kernel->mark(Side::left));
  EXPECT_EQ(sums.items(),
            (std::map<std::string, std::uint64_t>{{"build", 100}, {"count", 300}, {"probe", 100}, {"mark", 100}}));
}

/// 70 000 equal keys a side: 4.9e9 pairs, counted by one look-up a probe row and reachable at any position.
TEST(CpuJoin, CountsBeyond32BitsWithoutEnumerating) {
  constexpr std::uint64_t kRows = 70'000;
  if (testing::max_test_rows() < kRows) GTEST_SKIP() << "more rows than GARUDA_TEST_MAX_ROWS";
  auto const keys = testing::make_keys({32, kRows, kRows, KeyPattern::all_equal, Nulls::none, 1});
  SliceSide const left(keys.left, 32);
  SliceSide const right(keys.right, 32);
  auto const start = std::chrono::steady_clock::now();
  auto const [backend, kernel] = open(left.span(), right.span());
  ASSERT_EQ(kernel->count().value(), 4'900'000'000U);
  ASSERT_EQ(kernel->count().value(), reference::reference_count(keys.left, keys.right));
  std::vector<contract::RowPair> last(3);
  ASSERT_TRUE(kernel->pairs(4'900'000'000 - 3, last));
  EXPECT_EQ(last, (std::vector<contract::RowPair>{{69'999, 69'997}, {69'999, 69'998}, {69'999, 69'999}}));
  std::vector<contract::RowPair> middle(2);
  ASSERT_TRUE(kernel->pairs((std::uint64_t{1} << 32) - 1, middle));
  EXPECT_EQ(middle[0], (contract::RowPair{61'356, 47'295}));
  EXPECT_EQ(middle[1], (contract::RowPair{61'356, 47'296}));
  auto const marks = kernel->mark(Side::right).value();
  EXPECT_EQ(std::count(marks.begin(), marks.end(), ~std::uint64_t{0}), static_cast<std::ptrdiff_t>(kRows / 64));
  // Enumerating would take many seconds; the bound leaves room for a machine that is busy with other things.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST(CpuJoin, ThreadCountsGiveTheSameSequence) {
  if (testing::max_test_rows() < 200'000) GTEST_SKIP() << "more rows than GARUDA_TEST_MAX_ROWS";
  auto const keys = testing::make_keys({64, 150'000, 200'000, KeyPattern::zipf_1_0, Nulls::none, 5});
  SliceSide const left(keys.left, 64);
  SliceSide const right(keys.right, 64);
  std::vector<std::vector<contract::RowPair>> sequences;
  for (auto const threads : {1, 2, 4}) {
    // More threads than this machine may have cores.
    oneapi::tbb::global_control const limit(oneapi::tbb::global_control::max_allowed_parallelism, 4);
    oneapi::tbb::task_arena arena(threads);
    arena.execute([&] {
      auto const [backend, kernel] = open(left.span(), right.span());
      sequences.push_back(all_pairs(*kernel, 70'001));
    });
  }
  EXPECT_TRUE(sequences[0] == sequences[1]);
  EXPECT_TRUE(sequences[0] == sequences[2]);
}

TEST(CpuJoin, CancellationIsSeen) {
  auto const keys = testing::make_keys({32, 200, 300, KeyPattern::dense_unique, Nulls::none, 1});
  SliceSide const left(keys.left, 32);
  SliceSide const right(keys.right, 32);
  std::atomic<bool> cancelled = false;
  Control control;
  control.cancelled = &cancelled;
  contract::BackendOptions options;
  options.control = &control;
  auto const [backend, kernel] = open(left.span(), right.span(), options);
  ASSERT_EQ(kernel->count().value(), 200U);
  cancelled = true;
  std::vector<contract::RowPair> pairs(5);
  EXPECT_EQ(kernel->pairs(0, pairs).error().code(), ErrorCode::cancelled);
  EXPECT_EQ(kernel->mark(Side::left).error().code(), ErrorCode::cancelled);
  EXPECT_EQ(backend->begin({left.span(), right.span(), 0}, 0).error().code(), ErrorCode::cancelled);
}

TEST(CpuJoin, BrokenPreconditionsThrow) {
  contract::BackendOptions options;
  options.key_bits = 16;
  EXPECT_THROW((void)open_cpu_join(options), LogicError);
  options.key_bits = 32;
  auto const backend = open_cpu_join(options).value();
  std::vector<std::uint64_t> const words{1};
  contract::KeySpan wrong_width;
  wrong_width.words = std::span<std::uint64_t const>(words);
  EXPECT_THROW((void)backend->begin({wrong_width, wrong_width, 0}, 0), LogicError);
}

using TableForm = JoinTable<std::uint32_t>::Form;

/// Every form of the table against a map: unique or not, direct, ranked or hashed, all keys of one partition. `loose`:
/// it is told that keys may be anything.
template <class Word>
void expect_table_of(std::vector<Word> const& keys, std::uint32_t shared_low_bits, TableForm form, bool unique,
                     bool loose) {
  SCOPED_TRACE(::testing::Message() << keys.size() << " keys, shared bits " << shared_low_bits << " loose " << loose);
  std::map<Word, std::vector<std::uint32_t>> rows_of;
  for (std::uint32_t row = 0; row < keys.size(); ++row) rows_of[keys[row]].push_back(row);
  auto const min = keys.empty() ? Word{0} : *std::min_element(keys.begin(), keys.end());
  auto const max = keys.empty() ? Word{0} : *std::max_element(keys.begin(), keys.end());
  JoinTable<Word> table;
  // What the table held before must not show.
  std::vector<Word> const before{1, 1, 2};
  ASSERT_TRUE(table.build(before, 1, 2, 0));
  ASSERT_TRUE(loose ? table.build(keys, 0, std::numeric_limits<Word>::max(), shared_low_bits)
                    : table.build(keys, min, max, shared_low_bits));
  EXPECT_EQ(static_cast<int>(table.form()), static_cast<int>(form));
  EXPECT_EQ(table.is_unique(), unique);
  std::vector<Word> probes(keys);
  auto const step = static_cast<Word>(Word{1} << shared_low_bits);
  for (auto const edge : {min, max}) {
    probes.push_back(static_cast<Word>(edge - step));
    probes.push_back(static_cast<Word>(edge + step));
    probes.push_back(static_cast<Word>(edge + static_cast<Word>(~(step - 1)) / 2 / step * step));
  }
  std::mt19937_64 random(keys.size());
  for (int i = 0; i < 5'000; ++i)
    probes.push_back(static_cast<Word>((random() << shared_low_bits) + (min & (step - 1))));
  for (std::size_t first = 0; first < probes.size(); first += 1'000) {
    auto const count = std::min<std::size_t>(1'000, probes.size() - first);
    std::uint32_t found[1'000];
    table.find(probes.data() + first, count, found);
    for (std::size_t i = 0; i < count; ++i) {
      auto const expected = rows_of.find(probes[first + i]);
      ASSERT_EQ(found[i] != 0, expected != rows_of.end()) << "key " << probes[first + i];
      if (found[i] == 0) continue;
      if (unique) {
        ASSERT_EQ(found[i] - 1, expected->second.front());
        continue;
      }
      auto const run = table.run(found[i]);
      ASSERT_EQ(table.run_length(found[i]), run.size());
      ASSERT_TRUE(std::equal(run.begin(), run.end(), expected->second.begin(), expected->second.end()));
    }
  }
}

template <class Word>
void expect_table(std::vector<Word> const& keys, std::uint32_t shared_low_bits, TableForm form, bool unique) {
  for (bool const loose : {false, true}) expect_table_of(keys, shared_low_bits, form, unique, loose);
}

template <class Word>
void check_tables() {
  std::mt19937_64 random(8 * sizeof(Word));
  for (std::size_t const rows : {0, 1, 2, 1'023, 1'025, 70'000}) {
    std::vector<Word> dense(rows);
    std::vector<Word> strided(rows);
    std::vector<Word> scattered(rows);
    std::vector<Word> sparse(rows);
    for (std::size_t i = 0; i < rows; ++i) {
      dense[i] = static_cast<Word>(1'000 + i);
      strided[i] = static_cast<Word>((i << 10) + 77);
      scattered[i] = static_cast<Word>(9 + 40 * i + random() % 40);
      sparse[i] = static_cast<Word>(std::uint64_t{i} * 0x9E37'79B9'7F4A'7C15);
    }
    std::shuffle(dense.begin(), dense.end(), random);
    expect_table<Word>(dense, 0, TableForm::direct, true);
    expect_table<Word>(strided, 10, TableForm::direct, true);
    expect_table<Word>(strided, 0, rows < 3 ? TableForm::direct : TableForm::hashed, true);
    expect_table<Word>(scattered, 0, rows < 3 ? TableForm::direct : TableForm::ranked, true);
    expect_table<Word>(sparse, 0, rows < 2 ? TableForm::direct : TableForm::hashed, true);
    if (rows < 3) continue;
    for (auto* const keys : {&dense, &strided, &scattered, &sparse})
      for (std::size_t i = 0; i < rows; i += 3) (*keys)[i] = (*keys)[rows / 2];
    expect_table<Word>(dense, 0, TableForm::direct, false);
    expect_table<Word>(strided, 10, TableForm::direct, false);
    expect_table<Word>(scattered, 0, TableForm::ranked, false);
    expect_table<Word>(sparse, 0, TableForm::hashed, false);
  }
}

TEST(JoinTable, FindsAllRowsOfEveryKey32) { check_tables<std::uint32_t>(); }
TEST(JoinTable, FindsAllRowsOfEveryKey64) { check_tables<std::uint64_t>(); }

/// Tables of every form can be used again after a build that was cancelled.
TEST(JoinTable, StopsBuildingWhenCancelled) {
  std::atomic<bool> cancelled{true};
  Control control;
  control.cancelled = &cancelled;
  JoinTable<std::uint64_t> table;
  std::vector<std::uint64_t> scattered(2'000);
  for (std::size_t i = 0; i < scattered.size(); ++i) scattered[i] = 50 * i;
  for (std::vector<std::uint64_t> const& keys :
       {std::vector<std::uint64_t>{1, 2, 2}, {1, std::uint64_t{1} << 60}, scattered}) {
    cancelled = true;
    EXPECT_EQ(table.build(keys, keys.front(), keys.back(), 0, &control).error().code(), ErrorCode::cancelled);
    cancelled = false;
    ASSERT_TRUE(table.build(keys, keys.front(), keys.back(), 0, &control));
    std::uint32_t found = 0;
    table.find(&keys[1], 1, &found);
    EXPECT_NE(found, 0U);
  }
}

TEST(JoinTable, HoldsTheEdgesOfTheKeySpace) {
  expect_table<std::uint32_t>({0, 0xFFFF'FFFF}, 0, TableForm::hashed, true);
  expect_table<std::uint32_t>({0xFFFF'FFFE, 0xFFFF'FFFF}, 0, TableForm::direct, true);
  expect_table<std::uint64_t>({0, ~std::uint64_t{0}}, 0, TableForm::hashed, true);
  expect_table<std::uint64_t>({~std::uint64_t{0} - 1, ~std::uint64_t{0}, ~std::uint64_t{0}}, 0, TableForm::direct,
                              false);
}

/// Keys that agree in the hash bits that chose their partition still spread over the slots.
TEST(JoinTable, FindsKeysOfOneMixedPartition) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t key = 0; keys.size() < 40'000; ++key)
    if (partition::partition_of(key << 20, {4, 0, true}) == 5) keys.push_back(key << 20);
  expect_table(keys, 0, TableForm::hashed, true);
}

/// The direct and the ranked tables here are as wide as they may be.
TEST(JoinTable, PeakBytesIsAnUpperBound) {
  for (std::uint64_t const rows : {0, 1, 100, 1'024, 49'152, 100'000, 200'000})
    for (std::uint32_t const step : {8, 120}) {
      std::vector<std::uint32_t> keys(rows);
      for (std::uint32_t i = 0; i < rows; ++i) keys[i] = i / 2 * step;
      JoinTable<std::uint32_t> table;
      ASSERT_TRUE(table.build(keys, 0, rows == 0 ? 0 : keys.back(), 0));
      auto held = 4 * (2 * (table.num_slots() + 1) + 2 * rows);
      if (table.form() == TableForm::ranked) held += keys.back() / 4;
      EXPECT_LE(held, JoinTable<std::uint32_t>::peak_bytes(rows)) << rows;
      EXPECT_GT(cpu_join_bytes(rows, rows, 64), JoinTable<std::uint32_t>::peak_bytes(rows));
    }
}

/// Slices that name the same build side share its table: a small one a lane, a large one over all lanes.
TEST(CpuJoin, SlicesOfOneBuildSideShareItsTable) {
  for (std::uint32_t const build_rows : {1'000U, 100'000U}) {
    std::vector<std::uint32_t> build(build_rows);
    for (std::uint32_t i = 0; i < build_rows; ++i) build[i] = i;
    std::vector<std::uint32_t> probe(10'000);
    for (std::uint32_t i = 0; i < probe.size(); ++i) probe[i] = (i * 37) % (2 * build_rows);
    PhaseSums sums;
    contract::BackendOptions options;
    options.lanes = 2;
    options.stats = &sums;
    auto const backend = open_cpu_join(options).value();
    std::uint64_t matches = 0;
    for (std::uint32_t s = 0; s < 10; ++s) {
      contract::JoinSlice slice;
      slice.left.words = std::span<std::uint32_t const>(build);
      slice.left.max = build_rows - 1;
      slice.right.words = std::span<std::uint32_t const>(probe).subspan(s * 1'000, 1'000);
      slice.right.max = 2 * build_rows - 1;
      slice.build = Side::left;
      auto const kernel = backend->begin(slice, s % 2).value();
      auto const pairs = all_pairs(*kernel, 300);
      for (auto const pair : pairs) ASSERT_EQ(build[pair.left], probe[s * 1'000 + pair.right]);
      matches += pairs.size();
    }
    EXPECT_EQ(matches, static_cast<std::uint64_t>(
                           std::count_if(probe.begin(), probe.end(), [&](auto key) { return key < build_rows; })));
    EXPECT_EQ(sums.items().at("build"), build_rows <= 65'536 ? 2 * build_rows : build_rows);
  }
}

TEST(CpuJoin, SoleMatchesAreThePairsOfUniqueKeys) {
  std::vector<std::uint32_t> unique(5'000);
  std::iota(unique.begin(), unique.end(), 10U);
  std::shuffle(unique.begin(), unique.end(), std::mt19937(7));
  std::vector<std::uint32_t> probe;
  for (std::uint32_t i = 0; i < 9'000; ++i) probe.push_back(unique[i * 31 % 5'000]);
  auto const span = [](std::vector<std::uint32_t> const& keys) {
    return contract::KeySpan{std::span<std::uint32_t const>(keys), 0, 20'000, {}};
  };
  auto const expect_sole = [&](bool known, std::vector<std::uint32_t> const& left,
                               std::vector<std::uint32_t> const& right) {
    auto const [backend, kernel] = open(span(left), span(right));
    auto const pairs = all_pairs(*kernel, 1'000);
    auto const sole = kernel->unique_matches();
    ASSERT_EQ(sole.size(), known ? std::max(left.size(), right.size()) : 0);
    std::vector<contract::RowPair> found;
    for (std::uint32_t i = 0; i < sole.size(); ++i)
      if (sole[i] != 0)
        found.push_back(left.size() < right.size() ? contract::RowPair{sole[i] - 1, i}
                                                   : contract::RowPair{i, sole[i] - 1});
    if (known) {
      ASSERT_EQ(found, pairs);
    }
  };
  expect_sole(true, unique, probe);
  expect_sole(true, probe, unique);
  auto miss = probe;
  miss[4'567] = 9;
  expect_sole(true, unique, miss);
  auto twice = unique;
  twice[1'234] = twice[99];
  expect_sole(false, twice, probe);
}

/// A count that was not to be followed by pairs is, all the same.
TEST(CpuJoin, PairsComeAfterACountThatKeptNothing) {
  auto const keys = testing::make_keys({32, 3'000, 2'000, KeyPattern::zipf_both, Nulls::none, 3});
  SliceSide const left(keys.left, 32);
  SliceSide const right(keys.right, 32);
  contract::BackendOptions options;
  auto const kept = open(left.span(), right.span(), options);
  options.keeps_matches = false;
  auto const counted = open(left.span(), right.span(), options);
  EXPECT_EQ(all_pairs(*counted.kernel, 777), all_pairs(*kept.kernel, 1'000));
}

}  // namespace
}  // namespace garuda::cpu
