// The CPU path's group-by of whole tables: every way of grouping against one value at a time.
#include "operators/cpu/group_by/whole_group_by.hpp"

#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <random>
#include <string>
#include <vector>

#include "operators/cpu/group_by/local_groups.hpp"
#include "operators/cpu/group_by/partitioned_groups.hpp"
#include "operators/cpu/group_by/sums/sum_rows.hpp"
#include "tests/cpu/whole_problem.hpp"

namespace garuda::cpu {
namespace {

/// Local tables so small that they fill, are put aside or given up.
Open with_local_tables_of(std::uint64_t most_groups) {
  return [most_groups](contract::WholeTable const& table) -> Result<std::unique_ptr<contract::WholeGroupBy>> {
    GroupStates const states{table.requests, std::vector<FixedPoint>(table.requests.size()), table.wants_first_rows,
                             table.more_words.size()};
    contract::WholeGroupByOptions const options{Grouping::local, nullptr, nullptr};
    if (std::holds_alternative<std::span<std::uint32_t const>>(std::get<contract::KeySpan>(table.keys).words))
      return open_local_groups(TableRows<std::uint32_t>(table), states, most_groups, options, {2000, 1});
    return open_local_groups(TableRows<std::uint64_t>(table), states, most_groups, options, {2000, 1});
  };
}

TEST(WholeGroupBy, EveryGroupingFindsTheSameStates) {
  for (auto const rows : {1U, 2U, 63U, 64U, 65U, 3000U})
    for (auto const groups : {1U, 2U, 64U, 5000U})
      for (auto const narrow : {false, true})
        for (auto const nulls : {false, true}) {
          SCOPED_TRACE(std::to_string(rows) + " rows " + std::to_string(groups) + " groups" +
                       (narrow ? " narrow" : " wide") + (nulls ? " nulls" : ""));
          auto const dense = random_problem(rows, groups, 1, narrow, nulls, rows + groups);
          auto const strided = random_problem(rows, groups, 1024, narrow, nulls, rows + groups);
          auto const spread =
              random_problem(rows, groups, narrow ? 0x9E37'79B1 : 0x9E37'79B9'7F4A'7C15, narrow, nulls, rows + groups);
          for (auto const first_rows : {false, true}) {
            check(dense, first_rows, with(Grouping::direct));
            check(strided, first_rows, with(Grouping::direct));
            for (auto const* problem : {&dense, &strided, &spread})
              for (auto const grouping : {Grouping::local, Grouping::partitioned})
                check(*problem, first_rows, with(grouping));
            if (::testing::Test::HasFatalFailure()) return;
          }
        }
}

/// So many partitions, and so small chunks, as `sizes` make of a few rows.
Open with_partitions_of(PartitionSizes const& sizes) {
  return [sizes](contract::WholeTable const& table) -> Result<std::unique_ptr<contract::WholeGroupBy>> {
    GroupStates const states{table.requests, std::vector<FixedPoint>(table.requests.size()), table.wants_first_rows,
                             table.more_words.size()};
    contract::WholeGroupByOptions const options{Grouping::partitioned, nullptr, nullptr};
    if (std::holds_alternative<std::span<std::uint32_t const>>(std::get<contract::KeySpan>(table.keys).words))
      return open_partitioned_groups(TableRows<std::uint32_t>(table), states, {}, options, sizes);
    return open_partitioned_groups(TableRows<std::uint64_t>(table), states, {}, options, sizes);
  };
}

TEST(WholeGroupBy, ManyPartitionsWholeOrChunkByChunk) {
  for (auto const narrow : {false, true})
    for (auto const nulls : {false, true})
      for (auto const stride : {1U, 1024U, 0x9E37'79B1U})
        for (auto const first_rows : {false, true}) {
          SCOPED_TRACE(std::to_string(stride) + (narrow ? " narrow" : " wide") + (nulls ? " nulls" : ""));
          // Dense keys of 100 groups: kept tables, whose rows come in chunks of 128 and of 1024.
          auto const problem = random_problem(5000, 100, stride, narrow, nulls, stride);
          for (auto const& sizes : {PartitionSizes{1, 1}, PartitionSizes{600, 1024}, PartitionSizes{600, 1 << 20}})
            check(problem, first_rows, with_partitions_of(sizes));
          if (::testing::Test::HasFatalFailure()) return;
        }
}

/// `num_columns` columns of words below 2^40, whose sums fit a word; if their number is odd, the last one is counted,
/// too; the second one's extremes are wanted.
Problem words_problem(std::uint64_t rows, std::uint64_t groups, std::uint64_t stride, bool narrow,
                      std::size_t num_columns) {
  auto problem = random_problem(rows, groups, stride, narrow, false, 7);
  problem.columns.clear();
  std::mt19937_64 random(num_columns);
  for (std::size_t c = 0; c < num_columns; ++c) {
    Column column{{contract::ValueKind::uint64, contract::kSumState, false}, {}, {}};
    column.request.sums_fit_word = true;
    if (num_columns % 2 == 1 && c + 1 == num_columns) column.request.states |= contract::kCountState;
    if (c == 1) column.request.states |= contract::kMinState | contract::kMaxState;
    for (std::uint64_t row = 0; row < rows; ++row) {
      auto const value = random() >> 24;
      column.words.push_back(static_cast<std::uint32_t>(value));
      column.words.push_back(static_cast<std::uint32_t>(value >> 32));
    }
    problem.columns.push_back(std::move(column));
  }
  return problem;
}

TEST(WholeGroupBy, SumsThatFitWordsLieSideBySide) {
  for (std::size_t num_columns = 1; num_columns <= 9; ++num_columns)
    for (auto const rows : {1U, 255U, 256U, 257U, 3000U})
      for (auto const first_rows : {false, true}) {
        SCOPED_TRACE(std::to_string(num_columns) + " columns " + std::to_string(rows) + " rows");
        bool const narrow = num_columns % 2 == 0;
        auto const dense = words_problem(rows, 60, 1, narrow, num_columns);
        auto const spread = words_problem(rows, 60, 0x9E37'79B1, narrow, num_columns);
        check(dense, first_rows, with(Grouping::direct));
        for (auto const* problem : {&dense, &spread}) {
          check(*problem, first_rows, with(Grouping::local));
          check(*problem, first_rows, with_local_tables_of(10));
          check(*problem, first_rows, with(Grouping::partitioned));
          check(*problem, first_rows, with_partitions_of({600, 1024}));
        }
        if (::testing::Test::HasFatalFailure()) return;
      }
}

TEST(WholeGroupBy, WordsAreKeptSideBySideWhereTheyAreThreeOrFour) {
  auto const words = [](std::size_t sums, bool counts_rows) {
    std::vector<contract::StateRequest> requests(sums, {contract::ValueKind::uint64, contract::kSumState, false});
    for (auto& request : requests) request.sums_fit_word = true;
    requests.push_back({contract::ValueKind::uint64, contract::kSumState, false});  // may need a second word
    std::vector<std::size_t> lengths;
    for (auto const& list : side_by_side(requests, counts_rows)) lengths.push_back(list.size());
    return lengths;
  };
  using Lengths = std::vector<std::size_t>;
  EXPECT_EQ(words(2, false), Lengths());
  EXPECT_EQ(words(2, true), Lengths({3}));
  EXPECT_EQ(words(3, false), Lengths({3}));
  EXPECT_EQ(words(5, false), Lengths({4}));
  EXPECT_EQ(words(5, true), Lengths({4}));
  EXPECT_EQ(words(6, true), Lengths({4, 3}));
  EXPECT_EQ(words(8, false), Lengths({4, 4}));
}

TEST(WholeGroupBy, LocalTablesArePutAsideOrGivenUpInTheMiddle) {
  for (auto const narrow : {false, true})
    for (auto const most_groups : {1U, 10U, 40U, 200U}) {
      SCOPED_TRACE(most_groups);
      // Groups repeat often enough, then hardly ever, then often again.
      auto problem = random_problem(6000, 8, 77'777, narrow, true, most_groups);
      auto const many = random_problem(6000, 100'000, 77'777, narrow, true, 5);
      for (std::size_t row = 2500; row < 4500; ++row) problem.keys[row] = many.keys[row];
      for (auto const first_rows : {false, true}) check(problem, first_rows, with_local_tables_of(most_groups));
    }
}

TEST(WholeGroupBy, KeysOfSeveralWordsWhateverTheFirstOneTells) {
  for (auto const bits : {0U, 3U, 63U})
    for (auto const first_rows : {false, true}) {
      SCOPED_TRACE(bits);
      auto problem = random_problem(4000, 1500, 0x9E37'79B9'7F4A'7C15, false, false, bits);
      problem.first_word_bits = bits;
      for (auto const grouping : {Grouping::local, Grouping::partitioned}) {
        auto const order = check(problem, first_rows, with(grouping));
        EXPECT_EQ(check(problem, first_rows, with(grouping)), order);
      }
      for (auto const most_groups : {1U, 40U, 2000U}) check(problem, first_rows, with_local_tables_of(most_groups));
      for (auto const& sizes : {PartitionSizes{1, 1}, PartitionSizes{600, 1024}})
        check(problem, first_rows, with_partitions_of(sizes));
      if (::testing::Test::HasFatalFailure()) return;
    }
}

TEST(WholeGroupBy, OrderOfGroupsIsTheSameInEveryRun) {
  auto const problem = random_problem(5000, 300, 12'345, true, false, 9);
  for (auto const grouping : {Grouping::local, Grouping::partitioned}) {
    auto const first = check(problem, false, with(grouping));
    for (int run = 0; run < 5; ++run) EXPECT_EQ(check(problem, false, with(grouping)), first);
  }
}

TEST(WholeGroupBy, KeysAtTheEndsOfTheRange) {
  auto problem = random_problem(200, 1, 1, false, false, 3);
  std::vector<std::uint64_t> const ends{0, 1, ~std::uint64_t{0}, ~std::uint64_t{0} - 1, std::uint64_t{1} << 63};
  for (std::size_t row = 0; row < problem.keys.size(); ++row) problem.keys[row] = ends[row % ends.size()];
  check(problem, true, with(Grouping::local));
  check(problem, true, with(Grouping::partitioned));
}

TEST(WholeGroupBy, CanBeCancelled) {
  std::atomic<bool> const cancelled{true};
  Control control;
  control.cancelled = &cancelled;
  auto const problem = random_problem(500, 9, 1, true, false, 1);
  Input const input(problem, false);
  for (auto const grouping : {Grouping::direct, Grouping::local, Grouping::partitioned}) {
    auto const opened = open_cpu_whole_group_by(input.table, {grouping, &control, nullptr});
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), ErrorCode::cancelled);
  }
}

TEST(WholeGroupBy, RowsOfFewGroupsThatKeepTheirValuesAreForAllThreads) {
  constexpr std::uint64_t kListed = std::uint64_t{1} << 19;
  auto problem = random_problem(kListed, 100, 1, true, false, 1);
  problem.columns.resize(1);
  problem.columns[0] = {
      {contract::ValueKind::int32, contract::kListState, false}, std::vector<std::uint32_t>(kListed), {}};
  Input const input(problem, false);
  oneapi::tbb::task_arena arena(4);
  arena.execute([&] {
    auto const opened = open_cpu_whole_group_by(input.table, {Grouping::partitioned, nullptr, nullptr});
    ASSERT_TRUE(opened);
    EXPECT_GE((*opened)->num_parts(), 4U);
    std::uint64_t rows = 0;
    for (std::size_t p = 0; p < (*opened)->num_parts(); ++p) {
      auto const part = (*opened)->part(p);
      ASSERT_TRUE(part);
      if (!part->keys.empty()) rows += part->states[0].lists.offsets.back();
    }
    EXPECT_EQ(rows, kListed);
  });
}

TEST(WholeGroupBy, SizesFollowKeysAndStates) {
  contract::WholeTable table;
  EXPECT_FALSE(whole_sizes(table).has_keys);
  table.keys = contract::KeySpan{std::span<std::uint64_t const>{}, 10, 73, {}};
  table.requests = {{contract::ValueKind::int64, contract::kSumState, false}};
  auto const sizes = whole_sizes(table);
  EXPECT_TRUE(sizes.has_keys);
  EXPECT_EQ(sizes.slots, 64U);
  EXPECT_EQ(sizes.group_bytes, 9U) << "the sum, and whether there are rows";
  EXPECT_EQ(sizes.row_bytes, 8U + 4U + 8U) << "key, row id, value";
  table.common_low_bits = 3;
  EXPECT_EQ(whole_sizes(table).slots, 8U) << "bits that all keys share take no room";
  table.keys = contract::KeySpan{std::span<std::uint64_t const>{}, 0, ~std::uint64_t{0}, {}};
  table.common_low_bits = 0;
  EXPECT_EQ(whole_sizes(table).slots, 0U) << "2^64";
  table.more_words.resize(2);
  EXPECT_EQ(whole_sizes(table).row_bytes, 8U + 2 * 8U + 4U + 8U);
}

}  // namespace
}  // namespace garuda::cpu
