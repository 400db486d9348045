// Group-bys of millions of rows: where float counters would stop, and at many group counts.
#include <gtest/gtest.h>

#include <bit>
#include <optional>
#include <vector>

#include "core/numbers/wide_integer.hpp"
#include "garuda/engine.hpp"
#include "garuda/group_by.hpp"
#include "keys/numbering/mix.hpp"
#include "tests/test_run.hpp"
#include "tests/workloads/tables.hpp"
#include "tests/workloads/workloads.hpp"

namespace garuda {
namespace {

using testing::TestColumn;
using testing::TestTable;
using testing::type_of;

class LargeGroupBy : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::max_test_rows() < 2'000'000) GTEST_SKIP() << "larger than this run's tables";
    EngineOptions options;
    options.validation = testing::with_validation();
    auto created = Engine::create(options);
    ASSERT_TRUE(created) << created.error().describe();
    engine_.emplace(std::move(*created));
  }
  void TearDown() override {
    if (!engine_) return;
    EXPECT_EQ(engine_->validation_messages(), std::vector<std::string>{});
  }

  std::vector<GroupByOptions> all_paths() const {
    std::vector<GroupByOptions> all(1);
    all[0].path = Path::cpu;
    for (auto const& device : engine_->devices()) {
      if (!device.usable) continue;
      all.emplace_back().path = Path::graphics;
      all.back().device = std::to_string(device.index);
    }
    return all;
  }

  Table grouped(Table const& table, GroupBySpec const& spec, GroupByOptions const& options) {
    auto result = engine_->group_by(table.view(), spec, options);
    EXPECT_TRUE(result) << result.error().describe();
    if (!result) return {};
    auto all = collect(**result);
    EXPECT_TRUE(all) << all.error().describe();
    return all ? std::move(*all) : Table();
  }

  std::optional<Engine> engine_;
};

/// A float accumulator that counts one by one stops at 16 777 216.
TEST_F(LargeGroupBy, TwentyMillionRowsInOneGroup) {
  if (testing::is_driver("swiftshader")) GTEST_SKIP() << "within the budget of draws on lavapipe and the CPU only";
  constexpr std::size_t kRows = 20'000'000;
  std::vector<std::int64_t> values(kRows, std::int64_t{1} << 38);
  values.back() = 7;
  auto const table =
      TestTable()
          .add(TestColumn<std::int32_t>{"k", type_of(TypeId::int32), std::vector<std::int32_t>(kRows, 3), {}})
          .add(TestColumn<std::int64_t>{"x", type_of(TypeId::int64), std::move(values), {}})
          .build();
  GroupBySpec const spec{
      {"k"},
      {{AggregateFunction::count, std::nullopt, std::nullopt}, {AggregateFunction::sum, "x", std::nullopt}},
      false};
  for (auto const& options : all_paths()) {
    SCOPED_TRACE(to_string(options.path));
    auto const result = grouped(table, spec, options);
    ASSERT_EQ(result.num_rows(), 1);
    auto const& columns = result.batches()[0].columns;
    EXPECT_EQ(columns[0].data<std::int32_t>()[0], 3);
    EXPECT_EQ(columns[1].data<std::int64_t>()[0], 20'000'000);
    EXPECT_EQ(columns[2].data<std::int64_t>()[0], 19'999'999 * (std::int64_t{1} << 38) + 7);
  }
}

/// Count and exact sums of a group, computed without any of the product's code. Floats are multiples of 2^-53.
struct Expected {
  std::int64_t count = 0;
  Int128 sum = 0;
  Int128 float_sum = 0;
};

TEST_F(LargeGroupBy, TwoMillionRowsAtEveryGroupCount) {
  constexpr std::size_t kRows = 2'000'000;
  GroupBySpec const spec{{"k"},
                         {{AggregateFunction::count, std::nullopt, std::nullopt},
                          {AggregateFunction::sum, "i", std::nullopt},
                          {AggregateFunction::sum, "f", std::nullopt}},
                         false};
  for (std::uint64_t const groups : {16U, 65'536U, 1'000'000U}) {
    if (groups != 65'536U && !testing::full_tests()) continue;
    SCOPED_TRACE(groups);
    std::vector<std::int64_t> keys(kRows);
    std::vector<std::int64_t> integers(kRows);
    std::vector<double> floats(kRows);
    std::vector<Expected> expected(groups);
    for (std::size_t row = 0; row < kRows; ++row) {
      auto const group = keys::mix(row) % groups;
      keys[row] = static_cast<std::int64_t>(group * 1024) - 500;
      integers[row] = static_cast<std::int64_t>(keys::mix(row + (groups << 32))) >> 22;
      auto const units = static_cast<std::int64_t>(keys::mix(row + (groups << 40))) >> 10;
      floats[row] = static_cast<double>(units) * 0x1p-53;
      ++expected[group].count;
      expected[group].sum += integers[row];
      expected[group].float_sum += units;
    }
    auto const table = TestTable()
                           .add(TestColumn<std::int64_t>{"k", type_of(TypeId::int64), keys, {}})
                           .add(TestColumn<std::int64_t>{"i", type_of(TypeId::int64), integers, {}})
                           .add(TestColumn<double>{"f", type_of(TypeId::float64), floats, {}})
                           .build();
    for (auto const& options : all_paths()) {
      SCOPED_TRACE(to_string(options.path));
      std::vector<bool> seen(groups);
      auto const result = grouped(table, spec, options);
      for (auto const& batch : result.batches())
        for (std::int64_t row = 0; row < batch.num_rows; ++row) {
          auto const group = static_cast<std::size_t>((batch.columns[0].data<std::int64_t>()[row] + 500) / 1024);
          ASSERT_LT(group, groups);
          ASSERT_FALSE(seen[group]);
          seen[group] = true;
          ASSERT_EQ(batch.columns[1].data<std::int64_t>()[row], expected[group].count);
          ASSERT_EQ(batch.columns[2].data<std::int64_t>()[row], static_cast<std::int64_t>(expected[group].sum));
          // The conversion of a 128-bit integer rounds to nearest even, like the sum.
          ASSERT_EQ(std::bit_cast<std::uint64_t>(batch.columns[3].data<double>()[row]),
                    std::bit_cast<std::uint64_t>(static_cast<double>(expected[group].float_sum) * 0x1p-53));
        }
      for (std::size_t group = 0; group < groups; ++group) ASSERT_EQ(seen[group], expected[group].count != 0);
    }
  }
}

}  // namespace
}  // namespace garuda
