// The CPU path's group-by of whole tables: every way of grouping against one value at a time.
#include "operators/cpu/group_by/whole_group_by.hpp"

#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <bit>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "operators/cpu/group_by/grouping_strategies.hpp"
#include "operators/cpu/group_by/partitioned_groups.hpp"
#include "operators/cpu/group_by/sum_rows.hpp"
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

/// Opens a group-by with as many partitions, and as small chunks, as `sizes` make of a few rows.
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

using Kinds = std::vector<contract::ValueKind>;

/// Columns of `kinds`, whose sums are wanted; `counted`: of the first one its count, too; `with_nulls`: one column has
/// nulls, under which there is anything.
Problem kinds_problem(Kinds const& kinds, std::uint64_t rows, std::uint64_t stride, bool counted,
                      std::optional<std::size_t> with_nulls) {
  auto problem = random_problem(rows, 60, stride, stride % 2 == 0, false, 7);
  problem.columns.clear();
  std::mt19937_64 random(rows);
  for (std::size_t c = 0; c < kinds.size(); ++c) {
    Column column{{kinds[c], contract::kSumState, with_nulls == c}, {}, {}};
    column.request.sums_fit_word = true;
    if (c == 0 && counted) column.request.states |= contract::kCountState;
    for (std::uint64_t row = 0; row < rows; ++row) {
      auto const value = static_cast<std::int32_t>(random());
      if (with_nulls == c) column.valid.push_back(random() % 3 != 0);
      if (kinds[c] == contract::ValueKind::float64) {
        auto const bits =
            with_nulls == c && !column.valid.back() ? ~std::uint64_t{0} : std::bit_cast<std::uint64_t>(1.0 * value);
        column.words.push_back(static_cast<std::uint32_t>(bits));
        column.words.push_back(static_cast<std::uint32_t>(bits >> 32));
      } else if (kinds[c] == contract::ValueKind::float32) {
        column.words.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(value >> 8)));
      } else {
        column.words.push_back(static_cast<std::uint32_t>(value));
      }
    }
    problem.columns.push_back(std::move(column));
  }
  return problem;
}

TEST(WholeGroupBy, CountsNarrowSumsAndFloatsLieSideBySide) {
  using K = contract::ValueKind;
  for (auto const& kinds :
       {Kinds{K::int32},
        {K::float64},
        {K::int32, K::int32, K::float64},
        {K::uint32, K::float32},
        {K::uint32, K::int32, K::uint32, K::int32, K::int32, K::int32, K::int32, K::int32, K::int32},
        {K::float64, K::float32, K::float64, K::float64, K::float64}})
    for (auto const rows : {1U, 31U, 256U, 257U, 3000U})
      for (auto const counted : {false, true})
        for (auto const with_nulls : {std::optional<std::size_t>(), {0}, {kinds.size() - 1}})
          for (auto const first_rows : {false, true}) {
            SCOPED_TRACE(std::to_string(kinds.size()) + " columns " + std::to_string(rows) + " rows");
            auto const dense = kinds_problem(kinds, rows, 1, counted, with_nulls);
            auto const spread = kinds_problem(kinds, rows, 0x9E37'79B2, counted, with_nulls);
            check(dense, first_rows, with(Grouping::direct));
            for (auto const* problem : {&dense, &spread})
              for (auto const grouping : {Grouping::local, Grouping::partitioned})
                check(*problem, first_rows, with(grouping));
            if (::testing::Test::HasFatalFailure()) return;
          }
}

/// Numbers of sums that lie side by side in each list, for columns of sums.
std::vector<std::size_t> list_lengths(Kinds const& kinds, bool counts_rows, bool may_have_nulls = false) {
  std::vector<contract::StateRequest> requests;
  for (auto const kind : kinds) requests.push_back({kind, contract::kSumState, may_have_nulls});
  for (auto& request : requests) request.sums_fit_word = true;
  // What may need a second word, or is no sum, is in none.
  requests.push_back({contract::ValueKind::uint64, contract::kSumState, false});
  requests.push_back({contract::ValueKind::int32, contract::kSumState, false});
  requests.push_back({contract::ValueKind::int32, contract::kMinState, false});
  std::vector<std::size_t> lengths;
  for (auto const& list : side_by_side(requests, counts_rows)) {
    lengths.push_back(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) EXPECT_EQ(!list[i], counts_rows && lengths.size() == 1 && i == 0);
  }
  return lengths;
}

TEST(WholeGroupBy, WordsAreKeptSideBySideWhereTheyAreThreeOrFour) {
  auto const words = [](std::size_t sums, bool counts_rows) {
    return list_lengths(Kinds(sums, contract::ValueKind::uint64), counts_rows);
  };
  using Lengths = std::vector<std::size_t>;
  EXPECT_EQ(words(1, false), Lengths());
  EXPECT_EQ(words(1, true), Lengths({2}));
  EXPECT_EQ(words(2, false), Lengths({2}));
  EXPECT_EQ(words(2, true), Lengths({3}));
  EXPECT_EQ(words(3, false), Lengths({3}));
  EXPECT_EQ(words(5, false), Lengths({4}));
  EXPECT_EQ(words(5, true), Lengths({4, 2}));
  EXPECT_EQ(words(6, true), Lengths({4, 3}));
  EXPECT_EQ(words(8, false), Lengths({4, 4}));
}

TEST(WholeGroupBy, OtherSumsAreKeptSideBySideInEightWordsAtMost) {
  using K = contract::ValueKind;
  using Lengths = std::vector<std::size_t>;
  EXPECT_EQ(list_lengths({}, true), Lengths());
  EXPECT_EQ(list_lengths({K::int32}, false), Lengths());
  EXPECT_EQ(list_lengths({K::int32}, true), Lengths({2}));
  EXPECT_EQ(list_lengths({K::int32, K::uint32}, true, true), Lengths()) << "nulls";
  EXPECT_EQ(list_lengths({K::float32}, false, true), Lengths({1})) << "floats always";
  EXPECT_EQ(list_lengths({K::int32, K::int32, K::float64}, true), Lengths({4}));
  EXPECT_EQ(list_lengths({K::float64, K::float64, K::float64, K::float64}, true), Lengths({4, 1}));
  EXPECT_EQ(list_lengths(Kinds(8, K::uint32), true), Lengths({8, 1}));
  EXPECT_EQ(list_lengths({K::uint64, K::uint64, K::uint64, K::int32, K::float32}, true), Lengths({4, 2}));
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
