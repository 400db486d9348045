// Semi-join filters of integers against sets of values.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "garuda/engine.hpp"
#include "operators/pipeline/key_filter.hpp"
#include "tests/engine/engine_test.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"
#include "tests/reference/reference_join.hpp"

namespace garuda::pipeline {
namespace {

using reference::typed;

template <class T>
using Values = std::vector<std::optional<T>>;

/// Values near `middle`, one in ten of which is null.
template <class T>
Values<T> random_values(std::size_t count, std::int64_t middle, std::int64_t spread, std::mt19937_64& random) {
  std::uniform_int_distribution<std::int64_t> value(middle - spread, middle + spread);
  Values<T> values(count);
  for (auto& v : values)
    if (random() % 10 != 0) v = static_cast<T>(value(random));
  return values;
}

/// Compares the filter of `build` with a set of its values, for rows of `probe`.
/// Makes a filter by several threads at once.
void make(KeyFilter& filter) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      while (filter.state() < KeyFilter::State::made) EXPECT_TRUE(filter.make_part());
    });
  for (auto& thread : threads) thread.join();
}

template <class Build, class Probe>
void compare(TypeId build_type, Values<Build> const& build, TypeId probe_type, Values<Probe> const& probe) {
  ASSERT_TRUE(KeyFilter::is_for(typed(build_type), typed(probe_type)));
  auto const built = reference::make_table("k", {reference::make_column<Build>(typed(build_type), build, 3)});
  auto const probed = reference::make_table("k", {reference::make_column<Probe>(typed(probe_type), probe, 5)});
  std::set<std::int64_t> known;
  for (auto const& value : build)
    if (value) known.insert(std::int64_t{*value});
  std::vector<std::int64_t> wanted;
  for (std::size_t i = 0; i < probe.size(); ++i)
    if (probe[i] && known.contains(std::int64_t{*probe[i]})) wanted.push_back(static_cast<std::int64_t>(i));

  KeyFilter filter(built.view(), 0);
  make(filter);
  ASSERT_EQ(filter.state(), KeyFilter::State::made);
  Chunk chunk{probe.size(), {}, std::vector<ChunkColumn>(1)};
  chunk.columns[0] = {&probed.schema()[0], probed.batches()[0].columns[0], probed.batches()[0].owner};
  auto const passing = filter.passing(chunk, 0);
  ASSERT_TRUE(passing.has_value());
  EXPECT_EQ(std::vector<std::int64_t>(passing->begin(), passing->end()), wanted);
}

TEST(KeyFilters, PassTheValuesOfTheBuildSide) {
  std::mt19937_64 random(7);
  for (std::size_t const rows : {0, 1, 63, 64, 65, 1'023, 1'024, 1'025, 5'000}) {
    compare(TypeId::int64, random_values<std::int64_t>(rows / 4, 1'000'000'000'000, 3'000, random), TypeId::int64,
            random_values<std::int64_t>(rows, 1'000'000'000'000, 4'000, random));
    compare(TypeId::int8, random_values<std::int8_t>(rows / 50, 0, 127, random), TypeId::int64,
            random_values<std::int64_t>(rows, 0, 200, random));
    compare(TypeId::int64, random_values<std::int64_t>(rows / 4, -5, 3'000, random), TypeId::uint32,
            random_values<std::uint32_t>(rows, 5'000, 5'000, random));
    compare(TypeId::date32, random_values<std::int32_t>(rows / 4, -700'000, 900, random), TypeId::date32,
            random_values<std::int32_t>(rows, -700'000, 1'000, random));
  }
  // Parts of a build side that several threads read at once.
  compare(TypeId::int64, random_values<std::int64_t>(500'000, 7, 3'000'000, random), TypeId::int64,
          random_values<std::int64_t>(10'000, 0, 3'100'000, random));
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  Values<std::int64_t> const edges{kLeast, kLeast + 1, -1, 0, 1, kMost - 1, kMost, std::nullopt};
  for (auto const value : {kLeast, std::int64_t{0}, kMost})
    compare(TypeId::int64, Values<std::int64_t>{value, value}, TypeId::int64, edges);
  compare(TypeId::int64, Values<std::int64_t>{std::nullopt}, TypeId::int64, edges);
}

TEST(KeyFilters, AreOfIntegersWithinASmallRange) {
  EXPECT_TRUE(KeyFilter::is_for(typed(TypeId::timestamp), typed(TypeId::timestamp)));
  EXPECT_FALSE(KeyFilter::is_for(typed(TypeId::date32), typed(TypeId::int32)));
  EXPECT_FALSE(KeyFilter::is_for(typed(TypeId::uint64), typed(TypeId::int64)));
  EXPECT_FALSE(KeyFilter::is_for(typed(TypeId::utf8), typed(TypeId::utf8)));
  auto const wide = reference::make_table(
      "k", {reference::make_column<std::int64_t>(typed(TypeId::int64),
                                                 std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min(),
                                                                           std::numeric_limits<std::int64_t>::max()})});
  KeyFilter filter(wide.view(), 0);
  make(filter);
  EXPECT_EQ(filter.state(), KeyFilter::State::too_wide);
}

/// Joins of so many rows that few of them match, and a filter is made.
class MissFilters : public testing::EngineTest {};

TEST_F(MissFilters, KeepTheRowsOfEveryKindOfJoin) {
  std::mt19937_64 random(11);
  Values<std::int64_t> const build = random_values<std::int64_t>(300, 0, 2'000, random);
  Values<std::int32_t> const probe = random_values<std::int32_t>(60'000, 0, 40'000, random);
  std::multiset<std::int64_t> known;
  for (auto const& value : build)
    if (value) known.insert(*value);
  std::set<std::int64_t> seen;
  std::size_t pairs = 0;
  std::size_t matched = 0;
  std::size_t matched_build = 0;
  for (auto const& value : probe) {
    if (!value) continue;
    pairs += known.count(*value);
    matched += known.contains(*value) ? 1 : 0;
    seen.insert(*value);
  }
  for (auto const value : known) matched_build += seen.contains(value) ? 1 : 0;

  auto const left = reference::make_table("k", {reference::make_column<std::int32_t>(typed(TypeId::int32), probe, 0)});
  auto const right = reference::make_table("k", {reference::make_column<std::int64_t>(typed(TypeId::int64), build, 0)});
  auto const rows = [&](JoinKind kind) {
    auto const query = Query::scan(left.view()).join(Query::scan(right.view()), {kind, {{column("k"), column("k")}}});
    auto const result = engine().run(query, {});
    return result ? collect(**result)->num_rows() : -1;
  };
  EXPECT_EQ(rows(JoinKind::inner), static_cast<std::int64_t>(pairs));
  EXPECT_EQ(rows(JoinKind::full),
            static_cast<std::int64_t>(pairs + probe.size() - matched + build.size() - matched_build));
  EXPECT_EQ(rows(JoinKind::semi), static_cast<std::int64_t>(matched));
  EXPECT_EQ(rows(JoinKind::anti), static_cast<std::int64_t>(probe.size() - matched));
  EXPECT_EQ(rows(JoinKind::left), static_cast<std::int64_t>(pairs + probe.size() - matched));
  EXPECT_EQ(rows(JoinKind::right), static_cast<std::int64_t>(pairs + build.size() - matched_build));
}

}  // namespace
}  // namespace garuda::pipeline
