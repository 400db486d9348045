// Joins by a condition alone, and cross joins, of every kind on every path that has a strategy for them, against the
// oracle: whole results and counts.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "garuda/engine.hpp"
#include "tests/join/join_kinds.hpp"
#include "tests/join/join_test.hpp"
#include "tests/workloads/mixed_tables.hpp"
#include "tests/workloads/pairwise_cases.hpp"
#include "tests/workloads/tables.hpp"
#include "tests/workloads/workloads.hpp"

namespace garuda {
namespace {

using testing::kJoinKinds;
using testing::MixedTable;

/// One comparison, bands with and without more beside them, alternatives, one side's own, words of 64 bits, nulls, all
/// pairs and none.
constexpr char const* kConditions[] = {
    "left.i32 < right.i32",
    "left.n = right.n",
    "left.n <> right.n",
    "left.i64 >= right.i32 and left.i64 <= right.i16",
    "left.n > right.k and left.n < right.n and left.text <> right.word",
    "left.i8 = right.i8 or left.f64 < right.f32",
    "left.n >= 20 and right.n < 70 and left.k <= right.k",
    "not (left.f64 > right.f32 and left.flag = true)",
    "left.text < right.word and right.day > '1970-01-01'",
    "left.n >= 0",
    "left.n < 0",
    "left.i64 = null or right.second >= left.micro",
};

bool has_strategy(JoinOptions const& options) { return options.path == Path::cpu || options.path == Path::compute; }

class NonEquiJoins : public testing::JoinTest {
 protected:
  static JoinSpec non_equi(JoinKind kind, std::optional<std::string> const& where, bool ordered = false) {
    auto spec = spec_of(kind, false, ordered);
    spec.on.clear();
    if (where)
      spec.where = parse_condition(*where).value();
    else
      spec.allow_cross = true;
    std::vector<ColumnRef> columns{{Side::left, "n"}, {Side::left, "k"}, {Side::left, "text"}};
    if (!testing::has_left_columns_only(kind))
      columns.insert(columns.end(), {{Side::right, "n"}, {Side::right, "f64"}});
    spec.columns = columns;
    return spec;
  }

  /// expect_join, unless ranges of a sorted column are asked for and the condition or the path has none.
  static void expect_non_equi(Table const& left, Table const& right, JoinSpec const& spec, JoinOptions const& options) {
    if (options.tuning.method == JoinMethod::sorted_ranges) {
      auto const plan = engine().explain_join(left.view(), right.view(), spec, options);
      if (!plan) {
        EXPECT_NE(plan.error().message().find("sorted_ranges"), std::string::npos) << plan.error().describe();
        return;
      }
    }
    expect_join(left, right, spec, options);
  }
};

TEST_F(NonEquiJoins, EqualTheOracleOnEveryPath) {
  std::vector<testing::Axis> axes{{"kind", {}},  {"where", {}},   {"left", {}},
                                  {"right", {}}, {"ordered", {}}, {"tuning", {}}};
  for (auto const kind : kJoinKinds) axes[0].values.emplace_back(to_string(kind));
  for (auto const* where : kConditions) axes[1].values.emplace_back(where);
  auto const shapes = testing::mixed_shapes();
  for (std::size_t i = 0; i < shapes.size(); ++i)
    for (auto const axis : {2, 3}) axes[static_cast<std::size_t>(axis)].values.push_back(std::to_string(i));
  axes[4].values = {"any", "ordered"};
  axes[5].values = {"", "method=nested_loops,slice_rows=37", "method=sorted_ranges",
                    "method=sorted_ranges,build=left,slice_rows=64,chunk_rows=17,lanes=3",
                    "build=right,slice_rows=50,lanes=1"};
  auto const cases = testing::pairwise_cases(axes, [](std::span<std::size_t const>) { return true; });
  std::uint64_t index = 0;
  for (auto const& base : all_paths()) {
    if (!has_strategy(base)) continue;
    for (auto const& choice : cases.cases) {
      if (base.path != Path::cpu && !testing::takes_case(index++)) continue;
      SCOPED_TRACE(testing::describe(axes, choice));
      auto const left = shapes[choice[2]].build(1'000 + choice[2]);
      auto const right = shapes[choice[3]].build(2'000 + choice[3]);
      expect_non_equi(left, right, non_equi(kJoinKinds[choice[0]], kConditions[choice[1]], choice[4] == 1),
                      tuned(base, axes[5].values[choice[5]].c_str()));
      if (HasFailure()) return;
    }
  }
}

TEST_F(NonEquiJoins, RandomConditionsOnEveryPath) {
  for (auto const& base : all_paths()) {
    if (!has_strategy(base)) continue;
    auto const cases = testing::random_cases(base.path, 150, 25);
    for (std::uint64_t seed = 0; seed < cases; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      std::mt19937_64 random(47'000 + seed);
      auto const table = [&] {
        return MixedTable{random() % 90, random() % 2 == 0 ? 0 : 1 + random() % 60, 1 + random() % 30, random() % 9}
            .build(random());
      };
      auto const left = table();
      auto const right = table();
      auto spec = non_equi(kJoinKinds[random() % 7], "left.n = 1", random() % 3 == 0);
      spec.where = testing::mixed_condition(left.schema(), 1 + random() % 6, random());
      if (random() % 3 == 0) spec.columns.reset();
      expect_join(left, right, spec, base);
      if (HasFailure()) return;
    }
  }
}

TEST_F(NonEquiJoins, CrossJoinsWhereAllowed) {
  auto const left = MixedTable{.rows = 70, .batch_rows = 30}.build(1);
  auto const right = MixedTable{.rows = 45}.build(2);
  auto const none = MixedTable{.rows = 0}.build(3);
  for (auto const& base : all_paths()) {
    if (!has_strategy(base)) continue;
    for (auto const kind : kJoinKinds) {
      expect_join(left, right, non_equi(kind, std::nullopt, true), base);
      expect_join(left, right, non_equi(kind, std::nullopt), tuned(base, "slice_rows=16,chunk_rows=50"));
      expect_join(left, none, non_equi(kind, std::nullopt), base);
      if (HasFailure()) return;
    }
  }
}

/// As many pairs as no memory holds are counted at once, and come batch by batch.
TEST_F(NonEquiJoins, CrossJoinsLargerThanMemory) {
  if (testing::max_test_rows() < 100'000) GTEST_SKIP() << "more rows than GARUDA_TEST_MAX_ROWS";
  testing::TestTable numbers;
  numbers.add(
      testing::TestColumn<std::int32_t>{"n", DataType{TypeId::int32}, std::vector<std::int32_t>(1 << 20, 7), {}});
  auto const table = numbers.build();
  JoinSpec spec;
  spec.allow_cross = true;
  JoinOptions options;
  options.path = Path::cpu;
  auto const counted = engine().join_count(table.view(), table.view(), spec, options);
  ASSERT_TRUE(counted) << counted.error().describe();
  EXPECT_EQ(counted->rows, std::uint64_t{1} << 40);
  auto const result = engine().join(table.view(), table.view(), spec, options);
  ASSERT_TRUE(result) << result.error().describe();
  for (int i = 0; i < 3; ++i) {
    auto const batch = (*result)->next();
    ASSERT_TRUE(batch && *batch);
    EXPECT_GT((*batch)->num_rows, 0);
  }
}

TEST_F(NonEquiJoins, RefusedWithAdvice) {
  auto const table = MixedTable{.rows = 5}.build(1);
  auto const sentence_of = [&](JoinSpec const& spec, JoinOptions const& options) {
    auto const refused = engine().join(table.view(), table.view(), spec, options);
    EXPECT_FALSE(refused);
    if (refused) return std::string();
    EXPECT_EQ(refused.error().code(), ErrorCode::usage);
    return refused.error().message();
  };
  JoinOptions cpu;
  cpu.path = Path::cpu;
  EXPECT_NE(sentence_of(JoinSpec{}, cpu).find("--allow-cross"), std::string::npos);
  auto const banded = non_equi(JoinKind::inner, "left.n < right.n");
  EXPECT_NE(sentence_of(banded, tuned(cpu, "method=partitioned")).find("without keys"), std::string::npos);
  EXPECT_NE(sentence_of(spec_of(JoinKind::inner), tuned(cpu, "method=nested_loops")).find("with keys"),
            std::string::npos);
  EXPECT_NE(sentence_of(non_equi(JoinKind::inner, "left.n <> right.n"), tuned(cpu, "method=sorted_ranges"))
                .find("sorted_ranges"),
            std::string::npos);
  for (auto const& base : all_paths()) {
    if (has_strategy(base)) continue;
    EXPECT_NE(sentence_of(banded, base).find("paths cpu, compute"), std::string::npos);
  }
}

std::vector<std::string> listed(Plan const& plan) {
  std::vector<std::string> lines;
  for (auto const& candidate : plan.candidates)
    lines.push_back(std::string(to_string(candidate.path)) + " " + candidate.choices + " " +
                    std::to_string(candidate.estimated_ns));
  return lines;
}

/// What explain lists is what the run chose from, with the same numbers.
TEST_F(NonEquiJoins, RunAsExplained) {
  auto const left = MixedTable{.rows = 200}.build(4);
  auto const right = MixedTable{.rows = 150}.build(5);
  for (auto const* where : kConditions) {
    auto const spec = non_equi(JoinKind::left, where);
    JoinOptions options;
    options.path = Path::cpu;
    auto const plan = engine().explain_join(left.view(), right.view(), spec, options);
    ASSERT_TRUE(plan) << plan.error().describe();
    auto const result = engine().join(left.view(), right.view(), spec, options);
    ASSERT_TRUE(result) << result.error().describe();
    EXPECT_EQ(listed((*result)->plan()), listed(*plan)) << where;
    EXPECT_EQ((*result)->plan().tuning, plan->tuning) << where;
  }
}

}  // namespace
}  // namespace garuda
