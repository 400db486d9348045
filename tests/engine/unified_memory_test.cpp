// Devices that share memory with the host, through the public API: nothing is copied, and the rows are the oracle's.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "garuda/engine.hpp"
#include "tests/reference/reference_group_by.hpp"
#include "tests/reference/reference_join.hpp"
#include "tests/test_run.hpp"
#include "tests/workloads/tables.hpp"

namespace garuda {
namespace {

using testing::TestColumn;
using testing::TestTable;

/// Columns k and v of int32, `k` drawn from `distinct` values far apart.
Table int32_table(std::size_t rows, std::uint64_t distinct, std::uint64_t seed, std::int64_t batch_rows = 0) {
  std::mt19937_64 random(seed);
  TestColumn<std::int32_t> keys{"k", testing::type_of(TypeId::int32), {}, {}};
  TestColumn<std::int32_t> values{"v", testing::type_of(TypeId::int32), {}, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    keys.values.push_back(static_cast<std::int32_t>((random() % distinct) * 0x9e3779b1));
    values.values.push_back(static_cast<std::int32_t>(random()));
  }
  return TestTable().add(std::move(keys)).add(std::move(values)).build(batch_rows);
}

std::optional<std::uint64_t> counter(RunStats const& stats, std::string const& name) {
  for (auto const& [known, value] : stats.counters)
    if (known == name) return value;
  return std::nullopt;
}

void expect_no_copies(RunStats const& stats) {
  EXPECT_EQ(counter(stats, "copied_up_bytes"), 0U);
  EXPECT_EQ(counter(stats, "copied_down_bytes"), 0U);
  EXPECT_GT(counter(stats, "longest_submission_us").value_or(0) +
                counter(stats, "longest_compiling_submission_us").value_or(0),
            0U);
}

class UnifiedMemory : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    EngineOptions options;
    options.validation = testing::with_validation();
    auto created = Engine::create(options);
    if (!created) throw std::runtime_error(created.error().describe());
    engine_ = new Engine(std::move(*created));
  }
  static void TearDownTestSuite() {
    EXPECT_EQ(engine_->validation_messages(), std::vector<std::string>{});
    delete engine_;
    engine_ = nullptr;
  }
  void SetUp() override {
    auto const devices = engine_->devices();
    if (devices.empty() || !devices[0].usable) GTEST_SKIP() << "no usable device";
    if (!devices[0].unified_memory) GTEST_SKIP() << "the device has memory of its own";
  }

  static RunStats join(Table const& left, Table const& right, JoinKind kind, std::string const& tuning) {
    JoinSpec spec;
    spec.on = {{"k", "k"}};
    spec.kind = kind;
    JoinOptions options;
    options.path = Path::compute;
    options.device = "0";
    options.tuning = parse_join_tuning(tuning).value();
    auto result = engine_->join(left.view(), right.view(), spec, options);
    if (!result) throw std::runtime_error(result.error().describe());
    auto const joined = collect(**result);
    if (!joined) throw std::runtime_error(joined.error().describe());
    EXPECT_EQ(reference::sorted(reference::read_table(joined->view())),
              reference::sorted(reference::reference_join_table(left.view(), right.view(), spec)));
    return (*result)->stats();
  }

  static RunStats group_by(Table const& table, GroupBySpec const& spec, std::string const& tuning) {
    GroupByOptions options;
    options.path = Path::compute;
    options.device = "0";
    options.tuning = parse_group_by_tuning(tuning).value();
    auto result = engine_->group_by(table.view(), spec, options);
    if (!result) throw std::runtime_error(result.error().describe());
    auto const grouped = collect(**result);
    if (!grouped) throw std::runtime_error(grouped.error().describe());
    EXPECT_EQ(reference::sorted(reference::read_table(grouped->view())),
              reference::sorted(reference::reference_group_by(table.view(), spec)));
    return (*result)->stats();
  }

  static Engine* engine_;
};

Engine* UnifiedMemory::engine_ = nullptr;

TEST_F(UnifiedMemory, JoinsCopyNothing) {
  auto const left = int32_table(3'000, 2'000, 1);
  auto const right = int32_table(4'100, 2'500, 2);
  for (auto const kind : {JoinKind::inner, JoinKind::left, JoinKind::full, JoinKind::semi, JoinKind::anti})
    expect_no_copies(join(left, right, kind, ""));
  // Partitions of the driver begin anywhere within a page; batches make the keys' memory the engine's own.
  expect_no_copies(join(left, right, JoinKind::inner, "radix_bits=3,lanes=2"));
  expect_no_copies(join(int32_table(900, 700, 3, 100), right, JoinKind::inner, "slice_rows=512"));
  expect_no_copies(join(left, right, JoinKind::inner, "method=global"));
  expect_no_copies(join(int32_table(1'000, 1, 4), int32_table(40, 1, 5), JoinKind::inner, ""));
}

TEST_F(UnifiedMemory, GroupBysCopyNothing) {
  GroupBySpec spec;
  spec.keys = {"k"};
  spec.aggregates = {{AggregateFunction::count, std::nullopt, std::nullopt},
                     {AggregateFunction::sum, "v", std::nullopt},
                     {AggregateFunction::min, "v", std::nullopt},
                     {AggregateFunction::max, "v", std::nullopt}};
  for (auto const* tuning : {"", "radix_bits=2", "address=hash,slice_rows=1024"})
    expect_no_copies(group_by(int32_table(5'000, 600, 6), spec, tuning));
  expect_no_copies(group_by(int32_table(2'000, 50, 7, 300), spec, ""));
  spec.keys = {};
  expect_no_copies(group_by(int32_table(2'000, 50, 8), spec, ""));
}

TEST_F(UnifiedMemory, CopiesThatAreAskedForAreCounted) {
  auto const left = int32_table(3'000, 2'000, 1);
  auto const right = int32_table(4'100, 2'500, 2);
  auto const stats = join(left, right, JoinKind::inner, "upload=stage");
  EXPECT_EQ(counter(stats, "copied_up_bytes"), 4 * 7'100U);
  EXPECT_EQ(counter(stats, "copied_down_bytes"), 8 * stats.rows_out);
}

}  // namespace
}  // namespace garuda
