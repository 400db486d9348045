// Devices whose drivers refuse memory that their heaps say they have: the rows are the oracle's all the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "garuda/engine.hpp"
#include "tests/reference/reference_group_by.hpp"
#include "tests/reference/reference_join.hpp"
#include "tests/test_run.hpp"
#include "tests/unwrap.hpp"
#include "tests/workloads/tables.hpp"
#include "vk_runtime/memory/memory_pool.hpp"

namespace garuda {
namespace {

using testing::TestColumn;
using testing::TestTable;
using testing::value_of;

constexpr std::uint64_t kKiB = 1'024;

Table numbered(std::size_t rows, std::uint32_t step) {
  TestColumn<std::int32_t> keys{"k", testing::type_of(TypeId::int32), {}, {}};
  TestColumn<std::int32_t> values{"v", testing::type_of(TypeId::int32), {}, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    keys.values.push_back(static_cast<std::int32_t>(i * step % rows));
    values.values.push_back(static_cast<std::int32_t>(i));
  }
  return TestTable().add(std::move(keys)).add(std::move(values)).build();
}

class FalseHeaps : public ::testing::TestWithParam<Path> {
 protected:
  void SetUp() override {
    EngineOptions options;
    options.validation = testing::with_validation();
    engine_.emplace(value_of(Engine::create(options)));
    if (engine_->devices().empty() || !engine_->devices()[0].usable) GTEST_SKIP() << "no usable device";
  }
  void TearDown() override {
    vk::inject_given_memory(std::nullopt);
    if (!engine_) return;
    EXPECT_EQ(engine_->validation_messages(), std::vector<std::string>{});
  }

  /// Runs with all memory that the driver gives, then with the memory that `given` leaves.
  void expect_same_rows(vk::GivenMemory const& given) {
    for (bool const is_false : {false, true}) {
      vk::inject_given_memory(is_false ? std::optional(given) : std::nullopt);
      if (is_false) engine_->release_device_memory();
      JoinOptions options;
      options.path = GetParam();
      options.device = "0";
      auto const result = value_of(engine_->join(left_.view(), right_.view(), join_, options));
      EXPECT_EQ(reference::sorted(reference::read_table(value_of(collect(*result)).view())),
                reference::sorted(reference::reference_join_table(left_.view(), right_.view(), join_)));
      GroupByOptions grouping;
      grouping.path = GetParam();
      grouping.device = "0";
      auto const groups = value_of(engine_->group_by(left_.view(), group_by_, grouping));
      EXPECT_EQ(reference::sorted(reference::read_table(value_of(collect(*groups)).view())),
                reference::sorted(reference::reference_group_by(left_.view(), group_by_)));
    }
  }

  std::optional<Engine> engine_;
  std::size_t rows_ = static_cast<std::size_t>(std::min<std::uint64_t>(testing::max_test_rows(), 20'000));
  Table left_ = numbered(rows_, 7'919);
  Table right_ = numbered(rows_, 104'729);
  JoinSpec join_ = [] {
    JoinSpec spec;
    spec.on = {{"k", "k"}};
    return spec;
  }();
  GroupBySpec group_by_ = [] {
    GroupBySpec spec;
    spec.keys = {"k"};
    spec.aggregates = parse_aggregates("count,sum:v,max:v").value();
    return spec;
  }();
};

TEST_P(FalseHeaps, LargeBlocksAreRefused) { expect_same_rows({.largest_block = 1'024 * kKiB, .heap_bytes = {}}); }

TEST_P(FalseHeaps, HeapsHoldLessThanTheySay) {
  // Its images are halved until they fit, and then the heap is full: what reads their results finds no room.
  if (GetParam() == Path::graphics) GTEST_SKIP() << "images of the graphics path leave no room in such a heap";
  // A device with memory of its own needs room for what comes and goes, too.
  auto const mib = engine_->devices()[0].kind == DeviceKind::cpu ? 6U : 24U;
  expect_same_rows({.heap_bytes = std::vector<std::uint64_t>(16, mib * 1'024 * kKiB)});
}

INSTANTIATE_TEST_SUITE_P(Paths, FalseHeaps, ::testing::Values(Path::compute, Path::graphics),
                         [](auto const& path) { return std::string(to_string(path.param)); });

}  // namespace
}  // namespace garuda
