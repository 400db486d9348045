// Build sides of joins: made once and probed by several joins, whose rows are the oracle's.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "garuda/engine.hpp"
#include "tests/join/join_kinds.hpp"
#include "tests/join/join_test.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"
#include "tests/reference/reference_join.hpp"
#include "tests/test_run.hpp"

namespace garuda {
namespace {

using reference::typed;
using testing::kJoinKinds;
using Keys = std::vector<std::optional<std::int64_t>>;

/// Keys k, of 64 bits, and the number p of each row.
Table table_of(Keys const& keys, DataType const& type = typed(TypeId::int64)) {
  std::vector<std::int32_t> rows;
  for (std::size_t i = 0; i < keys.size(); ++i) rows.push_back(static_cast<std::int32_t>(i));
  std::vector<reference::Column> columns{reference::make_column<std::int64_t>(type, keys, 0),
                                         reference::make_column<std::int32_t>(typed(TypeId::int32), rows, 0)};
  std::vector<Batch> batches;
  batches.push_back(reference::make_batch(columns));
  return Table(Schema{{"k", type, true}, {"p", typed(TypeId::int32), false}}, std::move(batches));
}

Keys draw(std::size_t rows, std::int64_t first, std::int64_t step, std::uint64_t distinct, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Keys keys;
  for (std::size_t i = 0; i < rows; ++i)
    keys.push_back(random() % 50 == 0 ? std::nullopt
                                      : std::optional(first + step * static_cast<std::int64_t>(random() % distinct)));
  return keys;
}

class JoinBuilds : public testing::JoinTest {
 protected:
  static void expect_built(Table const& left, Table const& right, JoinBuild const& build, JoinSpec const& spec,
                           JoinOptions const& options) {
    SCOPED_TRACE(std::string(to_string(options.path)) + " " + testing::describe(spec) + " " +
                 to_string(options.tuning));
    auto const expected = reference::reference_join_table(left.view(), right.view(), spec);
    auto const counted = engine().join_count(left.view(), build, spec, options);
    ASSERT_TRUE(counted) << counted.error().describe();
    EXPECT_EQ(counted->rows, expected.rows.size());
    auto const result = engine().join(left.view(), build, spec, options);
    ASSERT_TRUE(result) << result.error().describe();
    auto const joined = collect(**result);
    ASSERT_TRUE(joined) << joined.error().describe();
    expect_no_null_where_there_is_none(*joined);
    testing::expect_rows(reference::read_table(joined->view()), expected, spec);
  }
};

/// Ranges of keys that lie apart, that overlap, and strides of which a probe side has what is between: the low bits
/// that all keys of a build side share say nothing of a probe side's.
TEST_F(JoinBuilds, ProbeKeysMayBeAnything) {
  struct Side {
    std::int64_t first, step;
    std::uint64_t distinct;
  };
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  std::vector<Side> const sides{{0, 1, 300},       {0, 64, 300},          {-2'000, 8, 300},
                                {kLeast, 1, 9},    {kMost - 300, 1, 300}, {kLeast, 1L << 55, 500},
                                {7, 1L << 34, 300}};
  auto const rows = std::min<std::size_t>(testing::max_test_rows(), 1'500);
  std::uint64_t seed = 0;
  for (auto const& options : all_paths())
    for (auto const& of_build : sides) {
      auto const right = table_of(draw(rows, of_build.first, of_build.step, of_build.distinct, ++seed));
      for (auto const bits : {-1, 0, 3}) {
        auto const build = engine().build(right.view(), {"k"}, {.radix_bits = bits});
        ASSERT_TRUE(build) << build.error().describe();
        EXPECT_GT(build->host_bytes(), 0U);
        for (auto const& of_probe : sides) {
          ++seed;
          if (!testing::takes_case(seed) || !testing::takes_host_case(seed)) continue;
          auto const left = table_of(draw(rows + 3, of_probe.first, of_probe.step, of_probe.distinct, seed));
          expect_built(left, right, *build, spec_of(kJoinKinds[seed % std::size(kJoinKinds)], false, seed % 5 == 0),
                       options);
          if (HasFailure()) return;
        }
      }
    }
}

TEST_F(JoinBuilds, EveryKindWithAndWithoutACondition) {
  auto const rows = std::min<std::size_t>(testing::max_test_rows(), 900);
  auto const right = table_of(draw(rows, 0, 1, 100, 1));
  for (auto const nulls_equal : {false, true}) {
    auto const build = engine().build(right.view(), {"k"}, {.nulls_equal = nulls_equal});
    ASSERT_TRUE(build) << build.error().describe();
    for (auto const& options : all_paths())
      for (auto const kind : kJoinKinds)
        for (auto const* const where : {"", "left.p < right.p"}) {
          auto const left = table_of(draw(rows / 2, -10, 1, 120, 2));
          auto spec = spec_of(kind, nulls_equal);
          if (*where != 0) spec.where = parse_condition(where).value();
          expect_built(left, right, *build, spec, options);
          if (HasFailure()) return;
        }
  }
}

TEST_F(JoinBuilds, TablesWithoutRowsOrKeys) {
  auto const none = table_of({});
  auto const nulls = table_of({std::nullopt, std::nullopt});
  auto const some = table_of({1, 2, std::nullopt, 2});
  for (auto const& options : all_paths())
    for (auto const* const right : {&none, &nulls, &some})
      for (auto const nulls_equal : {false, true}) {
        auto const build = engine().build(right->view(), {"k"}, {.nulls_equal = nulls_equal});
        ASSERT_TRUE(build) << build.error().describe();
        for (auto const* const left : {&none, &nulls, &some})
          for (auto const kind : kJoinKinds) {
            expect_built(*left, *right, *build, spec_of(kind, nulls_equal), options);
            if (HasFailure()) return;
          }
      }
}

TEST_F(JoinBuilds, KeysComeInAnyOrder) {
  auto const of = [](Keys const& a, Keys const& b) {
    std::vector<reference::Column> columns{reference::make_column<std::int64_t>(typed(TypeId::int64), a, 0),
                                           reference::make_column<std::int64_t>(typed(TypeId::int64), b, 0)};
    std::vector<Batch> batches;
    batches.push_back(reference::make_batch(columns));
    return Table(Schema{{"a", typed(TypeId::int64), true}, {"b", typed(TypeId::int64), true}}, std::move(batches));
  };
  auto const left = of({1, 2, 3, 1}, {5, 6, 7, 8});
  auto const right = of({1, 2, 2, 1}, {5, 6, 7, 9});
  auto const build = engine().build(right.view(), {"b", "a"}).value();
  EXPECT_EQ(build.keys(), (std::vector<std::string>{"b", "a"}));
  for (auto const& options : all_paths()) {
    JoinSpec spec;
    spec.on = {{"a", "a"}, {"b", "b"}};
    spec.kind = JoinKind::full;
    expect_built(left, right, build, spec, options);
    spec.on = {{"b", "b"}, {"a", "a"}};
    expect_built(left, right, build, spec, options);
  }
}

/// Joins of several threads share one build side, which one of them makes for keys of another type.
TEST_F(JoinBuilds, ServeSeveralThreads) {
  auto const rows = std::min<std::size_t>(testing::max_test_rows(), 4'000);
  auto const right = table_of(draw(rows, 0, 3, 2'000, 3));
  auto const build = engine().build(right.view(), {"k"}).value();
  auto const decimals = typed(TypeId::decimal64, 18, 0);
  std::vector<std::uint64_t> counted(8);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < counted.size(); ++t)
    threads.emplace_back([&, t] {
      auto const left = table_of(draw(rows, 0, 2, 3'000, 4), t % 2 == 0 ? typed(TypeId::int64) : decimals);
      JoinOptions options;
      options.path = Path::cpu;
      if (auto const count = engine().join_count(left.view(), build, spec_of(JoinKind::inner), options))
        counted[t] = count->rows;
    });
  for (auto& thread : threads) thread.join();
  auto const left = table_of(draw(rows, 0, 2, 3'000, 4));
  auto const expected = reference::reference_join_table(left.view(), right.view(), spec_of(JoinKind::inner));
  for (auto const rows_of_thread : counted) EXPECT_EQ(rows_of_thread, expected.rows.size());
}

/// A result goes on without the object that its join was given.
TEST_F(JoinBuilds, ResultsKeepWhatTheyRead) {
  auto const left = table_of(draw(200, 0, 1, 50, 5));
  auto const right = table_of(draw(200, 0, 1, 50, 6));
  JoinOptions options;
  options.path = Path::cpu;
  auto build = std::make_optional(engine().build(right.view(), {"k"}).value());
  auto const result = engine().join(left.view(), *build, spec_of(JoinKind::left), options).value();
  build.reset();
  auto const expected = reference::reference_join_table(left.view(), right.view(), spec_of(JoinKind::left));
  EXPECT_EQ(reference::sorted(reference::read_table(collect(*result).value().view())), reference::sorted(expected));
}

TEST_F(JoinBuilds, ACancelledOneEnds) {
  std::atomic<bool> const cancelled{true};
  JoinBuildOptions options;
  options.control.cancelled = &cancelled;
  auto const build = engine().build(table_of({1, 2}).view(), {"k"}, options);
  ASSERT_FALSE(build);
  EXPECT_EQ(build.error().code(), ErrorCode::cancelled);
}

TEST_F(JoinBuilds, WhatContradictsOneIsAnError) {
  auto const table = table_of({1, 2, 3});
  auto const refusal = [](auto const& result) {
    EXPECT_FALSE(result);
    return result ? std::string() : result.error().message();
  };
  EXPECT_EQ(refusal(engine().build(table.view(), {})), "a build side has 1 to 16 key columns: 0");
  EXPECT_EQ(refusal(engine().build(table.view(), {"k", "k"})), "a column is a key of a build side once: k");
  EXPECT_NE(refusal(engine().build(table.view(), {"x"})).find("x"), std::string::npos);
  EXPECT_EQ(refusal(engine().build(table.view(), {"k"}, {.radix_bits = 17})),
            "tuning value of radix_bits must be auto or 0 to 16: 17");
  EXPECT_NE(refusal(engine().build(table.view(), {"k"}, {.memory_limit_bytes = 10})).find("over the limit: 10"),
            std::string::npos);
  auto const build = engine().build(table.view(), {"k"}, {.radix_bits = 2}).value();
  JoinOptions options;
  options.path = Path::cpu;
  EXPECT_EQ(refusal(engine().join(table.view(), build, spec_of(JoinKind::inner, true), options)),
            "the build side was made with nulls_equal=false");
  auto spec = spec_of(JoinKind::inner);
  spec.on = {{"k", "p"}};
  EXPECT_EQ(refusal(engine().join(table.view(), build, spec, options)),
            "the right keys of a join are those that its build side was made for: k");
  EXPECT_EQ(refusal(engine().join(table.view(), build, spec_of(JoinKind::inner), tuned(options, "radix_bits=3"))),
            "the build side was made with radix_bits=2");
  EXPECT_NE(refusal(engine().join(table.view(), build, spec_of(JoinKind::inner), tuned(options, "build=left")))
                .find("build=left"),
            std::string::npos);
}

}  // namespace
}  // namespace garuda
