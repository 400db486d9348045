// Joins by equal keys and a condition, of every kind on every path, against the oracle: whole results and counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "garuda/engine.hpp"
#include "tests/join/join_kinds.hpp"
#include "tests/join/join_test.hpp"
#include "tests/test_run.hpp"
#include "tests/workloads/mixed_tables.hpp"
#include "tests/workloads/pairwise_cases.hpp"
#include "tests/workloads/tables.hpp"
#include "tests/workloads/workloads.hpp"

namespace garuda {
namespace {

using testing::kJoinKinds;
using testing::MixedTable;

/// Numbers of rows, and what the condition compares.
std::vector<ColumnRef> shown_columns(JoinKind kind) {
  std::vector<ColumnRef> columns{{Side::left, "n"}, {Side::left, "k"}, {Side::left, "text"}};
  if (!testing::has_left_columns_only(kind)) columns.insert(columns.end(), {{Side::right, "n"}, {Side::right, "f64"}});
  return columns;
}

/// Conditions that keep some pairs, all, none; of one side, of both, of nulls.
constexpr char const* kConditions[] = {
    "left.i32 < right.i32",
    "left.n <= right.n",
    "left.text <> right.word",
    "left.d38 >= right.d76 or left.i8 = right.i8",
    "not (left.f64 > right.f32 and left.flag = true)",
    "left.n >= 0",
    "left.n < 0",
    "right.text = 'ab'",
    "left.zoned < right.utc and right.day > '1970-01-01'",
    "left.i64 = null or right.second >= left.micro",
    "left.k = right.k",
};

class JoinConditions : public testing::JoinTest {
 protected:
  static JoinSpec conditioned(JoinKind kind, std::string const& where, bool nulls_equal = false, bool ordered = false) {
    auto spec = spec_of(kind, nulls_equal, ordered);
    spec.where = parse_condition(where).value();
    spec.columns = shown_columns(kind);
    return spec;
  }
};

TEST_F(JoinConditions, EqualTheOracleOnEveryPath) {
  std::vector<testing::Axis> axes{{"kind", {}},  {"where", {}},   {"left", {}},  {"right", {}},
                                  {"nulls", {}}, {"ordered", {}}, {"tuning", {}}};
  for (auto const kind : kJoinKinds) axes[0].values.emplace_back(to_string(kind));
  for (auto const* where : kConditions) axes[1].values.emplace_back(where);
  auto const shapes = testing::mixed_shapes();
  for (std::size_t i = 0; i < shapes.size(); ++i)
    for (auto const axis : {2, 3}) axes[static_cast<std::size_t>(axis)].values.push_back(std::to_string(i));
  axes[4].values = {"differ", "equal"};
  axes[5].values = {"any", "ordered"};
  axes[6].values = {"",
                    "radix_bits=0,slice_rows=64",
                    "radix_bits=2,build=left,chunk_rows=17,lanes=3",
                    "radix_bits=1,build=right,slice_rows=50",
                    "method=global,lanes=1",
                    "payload=carry,radix_bits=3"};
  auto const cases = testing::pairwise_cases(axes, [](std::span<std::size_t const>) { return true; });
  std::uint64_t index = 0;
  for (auto const& base : all_paths())
    for (auto const& choice : cases.cases) {
      if (base.path != Path::cpu && !testing::takes_case(index++)) continue;
      SCOPED_TRACE(testing::describe(axes, choice));
      auto const left = shapes[choice[2]].build(1'000 + choice[2]);
      auto const right = shapes[choice[3]].build(2'000 + choice[3]);
      expect_join(left, right,
                  conditioned(kJoinKinds[choice[0]], kConditions[choice[1]], choice[4] == 1, choice[5] == 1),
                  tuned(base, axes[6].values[choice[6]].c_str()));
      if (HasFailure()) return;
    }
}

TEST_F(JoinConditions, RandomConditionsOnEveryPath) {
  for (auto const& base : all_paths()) {
    auto const cases = testing::random_cases(base.path, 150, 25);
    for (std::uint64_t seed = 0; seed < cases; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      std::mt19937_64 random(31'000 + seed);
      auto const table = [&] {
        return MixedTable{random() % 120, random() % 2 == 0 ? 0 : 1 + random() % 60, 1 + random() % 30, random() % 9}
            .build(random());
      };
      auto const left = table();
      auto const right = table();
      auto spec = conditioned(kJoinKinds[random() % 7], "left.n = 1", random() % 3 == 0, random() % 3 == 0);
      spec.where = testing::mixed_condition(left.schema(), 1 + random() % 6, random());
      if (random() % 3 == 0) spec.columns.reset();
      expect_join(left, right, spec, base);
      if (HasFailure()) return;
    }
  }
}

/// One key fills many slices: a row's matches are in several of them.
TEST_F(JoinConditions, HeavyKeysInManySlices) {
  auto const left = MixedTable{.rows = 400, .batch_rows = 130, .keys = 2}.build(5);
  auto const right = MixedTable{.rows = 300, .keys = 2}.build(6);
  for (auto const& base : all_paths())
    for (auto const kind : kJoinKinds)
      for (auto const* where : {"left.n < right.n and right.n < 200", "left.n = right.n", "left.text < right.text"}) {
        if (base.path != Path::cpu && kind != JoinKind::full && kind != JoinKind::semi) continue;
        expect_join(left, right, conditioned(kind, where), tuned(base, "radix_bits=0,slice_rows=64"));
        expect_join(left, right, conditioned(kind, where), tuned(base, "chunk_rows=1000,lanes=2"));
        if (HasFailure()) return;
      }
}

TEST_F(JoinConditions, SlicesThatDoNotFitTheDeviceAreHalved) {
  auto const count = static_cast<std::size_t>(std::min<std::uint64_t>(testing::max_test_rows(), 20'000));
  std::mt19937_64 random(8);
  std::vector<std::int32_t> keys(count);
  std::vector<std::int64_t> values(count);
  for (auto& key : keys) key = static_cast<std::int32_t>(random() % 40);
  for (auto& value : values) value = static_cast<std::int64_t>(random() % 1'000);
  using testing::TestColumn;
  auto const left = testing::TestTable()
                        .add(TestColumn<std::int32_t>{"k", testing::type_of(TypeId::int32), keys, {}})
                        .add(TestColumn<std::int64_t>{"v", testing::type_of(TypeId::int64), values, {}})
                        .build();
  auto const right = testing::TestTable()
                         .add(TestColumn<std::int32_t>{"k", testing::type_of(TypeId::int32), {0, 1, 2, 77}, {}})
                         .add(TestColumn<std::int64_t>{"v", testing::type_of(TypeId::int64), {500, 0, 999, 5}, {}})
                         .build();
  for (auto options : all_paths()) {
    options.device_memory_limit_bytes = std::uint64_t{4} << 20;
    for (auto const kind : {JoinKind::full, JoinKind::semi, JoinKind::inner}) {
      auto spec = spec_of(kind);
      spec.where = parse_condition("left.v < right.v").value();
      expect_join(left, right, spec, options);
    }
  }
}

TEST_F(JoinConditions, OrderedRangesUnderAMemoryLimit) {
  auto const left = MixedTable{.rows = 3'000, .keys = 800}.build(9);
  auto const right = MixedTable{.rows = 2'000, .batch_rows = 300, .keys = 800}.build(10);
  JoinOptions options;
  options.path = Path::cpu;
  options.memory_limit_bytes = 512 << 10;
  for (auto const kind : kJoinKinds)
    expect_join(left, right, conditioned(kind, "left.i32 <= right.i32 and left.text <> right.text", false, true),
                options);
}

TEST_F(JoinConditions, PlansSayTheConditionAndPriceIt) {
  auto const table = MixedTable{.rows = 200}.build(11);
  for (auto const& options : all_paths())
    for (auto const counts : {false, true}) {
      auto const spec = conditioned(JoinKind::inner, "left.n < right.n");
      auto const explain = counts ? &Engine::explain_join_count : &Engine::explain_join;
      auto const plan = (engine().*explain)(table.view(), table.view(), spec, options);
      ASSERT_TRUE(plan) << plan.error().describe();
      EXPECT_EQ(plan->details.at(2), (std::pair<std::string, std::string>("where", "left.n < right.n")));
      auto const& phases = plan->phases_ns;
      EXPECT_TRUE(std::ranges::any_of(phases, [](auto const& phase) { return phase.first == "condition"; }))
          << to_string(*plan);
    }
}

TEST_F(JoinConditions, RefusesWhatItCannotTest) {
  auto const table = MixedTable{.rows = 5}.build(12);
  auto const error_of = [&](JoinSpec const& spec, JoinOptions const& options = {}) {
    auto const result = engine().join(table.view(), table.view(), spec, options);
    return result ? Error(ErrorCode::cancelled, "none") : result.error();
  };
  auto unknown = conditioned(JoinKind::semi, "left.nn < 1");
  EXPECT_EQ(error_of(unknown).message(), "left table: unknown column (nearest name: n): nn");
  EXPECT_EQ(error_of(conditioned(JoinKind::inner, "left.text < right.n")).code(), ErrorCode::invalid_input);
  JoinOptions whole;
  whole.tuning.placement = Placement::device;
  whole.path = Path::compute;
  auto const without_width = error_of(conditioned(JoinKind::inner, "left.n < right.n"), whole);
  bool const may_have_none = testing::is_profile() || testing::is_driver("cuda");
  if (may_have_none && without_width.code() == ErrorCode::no_device) GTEST_SKIP() << without_width.message();
  EXPECT_EQ(without_width.code(), ErrorCode::usage);
  EXPECT_EQ(without_width.message(),
            "placement=device cannot be had: beside keys and what is compared, tables brought to a device whole have "
            "columns of fixed width: 'text' is utf8");
  // Strings that are compared go there.
  EXPECT_EQ(error_of(conditioned(JoinKind::inner, "left.text < right.word"), whole).message(), "none");
}

}  // namespace
}  // namespace garuda
