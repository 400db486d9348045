// Pairs of a kernel under a condition: entered anywhere, counted, marked, found anew.
#include "operators/join/condition_kernel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace garuda::join {
namespace {

using contract::RowPair;

/// Every left row with every right row; fails from a number of calls for pairs on.
class AllPairs final : public contract::JoinKernel {
 public:
  AllPairs(std::uint32_t left, std::uint32_t right, std::size_t* calls, std::size_t most_calls)
      : left_(left), right_(right), calls_(calls), most_calls_(most_calls) {}

  Result<std::uint64_t> count() override { return std::uint64_t{left_} * right_; }
  Result<void> pairs(std::uint64_t first, std::span<RowPair> out) override {
    if (++*calls_ > most_calls_) return fail(ErrorCode::limit_exceeded, "too many calls");
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = {static_cast<std::uint32_t>((first + i) / right_), static_cast<std::uint32_t>((first + i) % right_)};
    return {};
  }
  std::span<std::uint32_t const> unique_matches() const override { return found_; }
  Result<contract::MarkBitmap> mark(Side) override { return fail(ErrorCode::usage, "the path marks other pairs"); }

 private:
  std::uint32_t left_;
  std::uint32_t right_;
  std::size_t* calls_;
  std::size_t most_calls_;
  std::vector<std::uint32_t> found_{1};
};

struct NoStats final : contract::StatsSink {
  void add_phase(std::string_view, std::uint64_t, std::uint64_t, std::uint64_t) override {}
  void add_counter(std::string_view name, std::uint64_t value) override {
    if (name == "pairs_tested") tested += value;
  }
  void max_counter(std::string_view, std::uint64_t) override {}
  void note(std::string) override {}
  std::uint64_t tested = 0;
};

/// A partition in the middle of both tables, `left < right` of a word a row.
struct Problem {
  static constexpr std::uint32_t kBefore = 3;

  Problem(std::uint32_t left, std::uint32_t right, bool narrow_ids, std::uint32_t range, bool words_moved = false)
      : left_rows(left), right_rows(right), moved(words_moved) {
    std::mt19937 random(7);
    auto const fill = [&](std::uint32_t rows, std::vector<std::uint32_t>& words, partition::PartitionedKeys& keys,
                          std::vector<std::uint32_t>& narrow, std::vector<std::uint64_t>& wide) {
      for (std::uint32_t i = 0; i < rows + kBefore; ++i) {
        words.push_back(static_cast<std::uint32_t>(random() % range));
        narrow.push_back(moved ? i : rows + kBefore - 1 - i);
        wide.push_back(narrow.back());
      }
      keys.wide_row_ids = !narrow_ids;
      // Row ids of words that moved do not say where the words are.
      if (!moved) keys.row_ids = narrow_ids ? static_cast<void const*>(narrow.data()) : wide.data();
      keys.offsets = {0, rows + kBefore};
    };
    fill(left, left_words, left_keys, left_narrow, left_wide);
    fill(right, right_words, right_keys, right_narrow, right_wide);
    condition.left.push_back({std::span<std::uint32_t const>(left_words), {}, {}});
    condition.right.push_back({std::span<std::uint32_t const>(right_words), {}, {}});
    using Source = expr::WordOperand::Source;
    condition.comparisons.push_back({Comparator::less, {Source::left, 0, 0}, {Source::right, 0, 0}});
    condition.steps.push_back({expr::PairStep::Kind::comparison, 0});
    slice = {0, {kBefore, left + kBefore}, {kBefore, right + kBefore}};
    for (std::uint32_t i = 0; i < left; ++i)
      for (std::uint32_t j = 0; j < right; ++j)
        if (left_words[left_narrow[kBefore + i]] < right_words[right_narrow[kBefore + j]]) expected.push_back({i, j});
  }

  TestedJoin join(std::uint64_t window, std::uint64_t kept = 1 << 20, bool wants_pairs = true) {
    return {condition, {left_keys, moved}, {right_keys, moved}, true, true, wants_pairs, kept, window, control, stats};
  }
  std::unique_ptr<ConditionKernel> kernel(TestedJoin const& join, std::size_t most_calls = ~std::size_t{0}) {
    calls = 0;
    return std::make_unique<ConditionKernel>(std::make_unique<AllPairs>(left_rows, right_rows, &calls, most_calls),
                                             slice, join);
  }
  contract::MarkBitmap marks(Side side) const {
    contract::MarkBitmap marks(contract::bitmap_words(side == Side::left ? left_rows : right_rows));
    for (auto const& pair : expected) {
      auto const row = side == Side::left ? pair.left : pair.right;
      marks[row / 64] |= std::uint64_t{1} << row % 64;
    }
    return marks;
  }

  std::uint32_t left_rows;
  std::uint32_t right_rows;
  bool moved;
  std::vector<std::uint32_t> left_words, right_words, left_narrow, right_narrow;
  std::vector<std::uint64_t> left_wide, right_wide;
  partition::PartitionedKeys left_keys, right_keys;
  expr::PairCondition condition;
  run::SliceTask slice;
  std::vector<RowPair> expected;
  Control control;
  NoStats stats;
  std::size_t calls = 0;
};

TEST(ConditionKernel, GivesThePairsThatPassInOrder) {
  for (auto const& [narrow, moved] : {std::pair{true, false}, {false, false}, {true, true}})
    for (auto const rows : {0U, 1U, 65U, 130U})
      for (auto const window : {1U, 7U, 1'024U, 1'025U, 100'000U}) {
        if (window < 7 && rows > 65) continue;
        Problem problem(rows, rows + 5, narrow, 20, moved);
        auto const join = problem.join(window);
        auto const kernel = problem.kernel(join);
        ASSERT_EQ(kernel->count().value(), problem.expected.size());
        std::vector<RowPair> pairs(problem.expected.size());
        ASSERT_TRUE(kernel->pairs(0, pairs));
        EXPECT_EQ(pairs, problem.expected);
        EXPECT_EQ(kernel->mark(Side::left).value(), problem.marks(Side::left));
        EXPECT_EQ(kernel->mark(Side::right).value(), problem.marks(Side::right));
        EXPECT_TRUE(kernel->unique_matches().empty());
        EXPECT_EQ(problem.stats.tested, std::uint64_t{rows} * (rows + 5));
      }
}

/// More pairs pass than are kept, so the kernel finds them again.
TEST(ConditionKernel, CanBeEnteredAnywhere) {
  for (auto const range : {2U, 1'000U}) {
    Problem problem(610, 600, true, range);
    auto const join = problem.join(1 << 10, range == 2 ? 0 : 100'000);
    auto const kernel = problem.kernel(join);
    auto const& expected = problem.expected;
    ASSERT_EQ(kernel->count().value(), expected.size());
    std::mt19937_64 random(9);
    std::vector<RowPair> some;
    auto const expect_at = [&](std::uint64_t first, std::uint64_t count) {
      some.resize(count);
      ASSERT_TRUE(kernel->pairs(first, some));
      ASSERT_TRUE(std::equal(some.begin(), some.end(), expected.begin() + static_cast<std::ptrdiff_t>(first)))
          << first << ", " << count;
    };
    for (std::uint64_t first = 0; first < expected.size(); first += 10'000)
      ASSERT_NO_FATAL_FAILURE(expect_at(first, std::min<std::uint64_t>(10'000, expected.size() - first)));
    for (int i = 0; i < 40; ++i) {
      auto const first = random() % expected.size();
      ASSERT_NO_FATAL_FAILURE(expect_at(first, std::min<std::uint64_t>(random() % 5'000, expected.size() - first)));
    }
    ASSERT_NO_FATAL_FAILURE(expect_at(expected.size(), 0));
  }
}

TEST(ConditionKernel, OneLookIsEnoughForFewPairs) {
  Problem problem(100, 100, true, 50);
  auto const join = problem.join(1'000);
  auto const kernel = problem.kernel(join);
  ASSERT_TRUE(kernel->mark(Side::right));
  ASSERT_TRUE(kernel->count());
  std::vector<RowPair> pairs(problem.expected.size());
  ASSERT_TRUE(kernel->pairs(0, pairs));
  EXPECT_EQ(problem.calls, 10U);
}

TEST(ConditionKernel, HandsFailuresOn) {
  Problem problem(100, 100, true, 50);
  auto const join = problem.join(1'000);
  auto const kernel = problem.kernel(join, 4);
  EXPECT_EQ(kernel->count().error().code(), ErrorCode::limit_exceeded);
  std::atomic<bool> const cancelled{true};
  problem.control.cancelled = &cancelled;
  auto const other = problem.join(1'000);
  EXPECT_EQ(problem.kernel(other)->mark(Side::left).error().code(), ErrorCode::cancelled);
}

}  // namespace
}  // namespace garuda::join
