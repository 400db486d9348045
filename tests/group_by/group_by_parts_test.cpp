// The parts of the group-by's driver that need no table: tunings, tasks, plans, merging.
#include <gtest/gtest.h>

#include "operators/contract/key_span.hpp"
#include "operators/group_by/group_by.hpp"
#include "operators/group_by/group_states.hpp"
#include "operators/plan/group_by_planner.hpp"
#include "tests/engine/fake_device.hpp"
#include "tests/plan/planner_shapes.hpp"

namespace garuda::group_by {
namespace {

TEST(GroupByTuning, TextThereAndBack) {
  auto const text = "address=hash,keys=rowid,method=shared,upload=stage,radix_bits=0,slice_rows=100";
  auto const tuning = parse_group_by_tuning(text);
  ASSERT_TRUE(tuning);
  EXPECT_EQ(tuning->keys, KeyForm::rowid);
  EXPECT_EQ(tuning->slice_rows, 100U);
  EXPECT_EQ(to_string(*tuning), text);
  EXPECT_EQ(to_string(GroupByTuning{}), "");
  auto const refused = parse_group_by_tuning("keys=many");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "tuning value of keys must be auto, packed, words, rowid: many");
}

TEST(GroupTasks, PartitionsAreCutInOrder) {
  std::vector<GroupTask> const expected{{0, 0, 4, false}, {0, 4, 5, false}, {2, 5, 8, true}};
  EXPECT_EQ(cut_group_tasks({0, 5, 5, 8}, 4), expected);
  EXPECT_TRUE(cut_group_tasks({0, 0}, 4).empty());
}

/// On four threads.
contract::GroupByShape shape_of(std::uint64_t rows, std::uint64_t groups) {
  auto shape = testing::summed_groups(rows, groups);
  shape.threads = 4;
  return shape;
}

Plan plan_on_cpu(contract::GroupByShape const& shape, GroupByOptions options = {}) {
  options.path = Path::cpu;
  options.tuning.grouping = Grouping::slices;
  auto const plan = plan::plan_group_by(shape, {}, options);
  EXPECT_TRUE(plan) << plan.error().describe();
  return plan ? plan->plan : Plan{};
}

TEST(GroupByPlanner, FewGroupsAreSlicedManyArePartitioned) {
  auto const few = plan_on_cpu(shape_of(8'000'000, 16));
  EXPECT_EQ(few.radix_bits, 0U);
  EXPECT_EQ(few.slice_rows, 2'000'000U) << "a slice a thread";
  auto const many = plan_on_cpu(shape_of(8'000'000, 8'000'000));
  EXPECT_GE(many.radix_bits, 6U);
  auto const huge = plan_on_cpu(shape_of(std::uint64_t{1} << 30, 16));
  EXPECT_LE(huge.slice_rows, contract::kMaxPassRows);
  auto shape = shape_of(8'000'000, 8'000'000);
  shape.key_bits = 0;
  EXPECT_EQ(plan_on_cpu(shape).radix_bits, 0U) << "without keys there is nothing to partition by";
}

TEST(GroupByPlanner, KeepsTheMemoryLimitOrRefuses) {
  auto shape = shape_of(1'000'000, 1'000'000);
  shape.encoded_bytes = 4'000'000;
  GroupByOptions options;
  options.memory_limit_bytes = 40 << 20;
  auto const plan = plan_on_cpu(shape, options);
  EXPECT_LE(plan.host_bytes, options.memory_limit_bytes);
  options.path = Path::cpu;
  options.memory_limit_bytes = 5 << 20;
  auto const refused = plan::plan_group_by(shape, {}, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::limit_exceeded);
}

TEST(GroupByPlanner, GraphicsKeepsDeviceMemoryAndSaysWhatItDraws) {
  testing::FakeDevice const device(vk::DeviceType::discrete);
  contract::Machine const machine{{device.facts()}, std::nullopt, {}};
  GroupByOptions options;
  options.path = Path::graphics;
  auto shape = shape_of(100'000'000, 16);
  auto const few = plan::plan_group_by(shape, machine, options);
  ASSERT_TRUE(few) << few.error().describe();
  EXPECT_EQ(few->plan.radix_bits, 0U) << "duplicates never clash: 16 groups are merged over slices";
  EXPECT_LE(few->plan.slice_rows, contract::kMaxPassRows);
  shape.estimated_groups = shape.rows;
  auto const many = plan::plan_group_by(shape, machine, options);
  ASSERT_TRUE(many);
  EXPECT_GE(many->plan.radix_bits, 4U) << "groups fill two fifths of an image of 4096 x 4096 pixels";
  options.device_memory_limit_bytes = 64 << 20;
  auto const small = plan::plan_group_by(shape, machine, options);
  ASSERT_TRUE(small);
  EXPECT_LE(small->plan.device_bytes, options.device_memory_limit_bytes);
  shape.key_bits = 0;
  shape.key_words = 6;
  options.tuning.keys = KeyForm::words;
  auto const words = plan::plan_group_by(shape, machine, options);
  ASSERT_TRUE(words);
  EXPECT_NE(to_string(words->plan).find("2 attachments of row id and 6 key words"), std::string::npos)
      << to_string(words->plan);
}

TEST(GroupByPlanner, SaysWhyADeviceCannot) {
  testing::FakeDevice device(vk::DeviceType::discrete);
  for (auto& format : device.traits.formats) format.blend = false;
  contract::Machine const machine{{device.facts()}, std::nullopt, {}};
  GroupByOptions options;
  options.path = Path::graphics;
  EXPECT_TRUE(plan::plan_group_by(shape_of(1000, 10), machine, options)) << "compute passes stand in for blending";
  device.traits.features.buffer_device_address = false;
  auto const refused = plan::plan_group_by(shape_of(1000, 10), {{device.facts()}, std::nullopt, {}}, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::no_device);
}

TEST(GroupByPlanner, RefusesPathsItDoesNotHave) {
  GroupByOptions options;
  options.path = Path::cuda;
  auto const refused = plan::plan_group_by(shape_of(10, 1), {}, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::no_device);
}

using Words = contract::Words;

/// The state of an aggregate of integers.
contract::AggregateState state_of(Words counts, Words sums = {}, Words minima = {}, Words maxima = {}) {
  contract::AggregateState state;
  state.counts = std::move(counts);
  state.sums = std::move(sums);
  state.minima = std::move(minima);
  state.maxima = std::move(maxima);
  return state;
}

/// One chunk of groups with 32-bit keys, of a column of int64 with all states.
GroupChunk chunk_of(std::vector<std::uint32_t> keys, contract::Words rows, contract::AggregateState state) {
  GroupChunk chunk;
  chunk.head_rows = std::move(rows);
  chunk.keys.packed32 = std::move(keys);
  chunk.states.push_back(std::move(state));
  return chunk;
}

TEST(MergeGroups, AddsStatesOfEqualKeysInTheOrderOfFirstRows) {
  resolve::StateColumn const column{
      std::size_t{0}, contract::ValueKind::int64,
      contract::kCountState | contract::kSumState | contract::kMinState | contract::kMaxState};
  constexpr auto kAll = ~std::uint64_t{0};
  // Group 7 has no value yet: its extremes are unspecified.
  auto groups = chunk_of({7, 3}, {0, 1}, state_of({0, 2}, {0, 0, kAll, 0}, {123, 10}, {99, 20}));
  auto const next = chunk_of({3, 5, 7}, {10, 11, 12}, state_of({1, 0, 3}, {1, 0, 0, 0, 4, kAll}, {5, 1, 8}, {5, 1, 9}));
  ASSERT_TRUE(merge_groups({column}, next, {}, groups));
  EXPECT_EQ(groups.head_rows, (Words{0, 1, 11}));
  EXPECT_EQ(groups.keys.packed32, (std::vector<std::uint32_t>{7, 3, 5}));
  auto const& state = groups.states[0];
  EXPECT_EQ(state.counts, (Words{3, 3, 0}));
  // 2^64 - 1 and 1 carry into the second word; -2^64 + 4 stays negative.
  EXPECT_EQ(state.sums, (Words{4, kAll, 0, 1, 0, 0}));
  EXPECT_EQ(state.minima[1], 5U);
  EXPECT_EQ(state.maxima[1], 20U);
}

TEST(MergeGroups, FloatWindowsAreUnited) {
  resolve::StateColumn const column{std::size_t{0}, contract::ValueKind::float64, contract::kSumState};
  contract::AggregateState low;
  low.float_sums = {{kNotANumber}, {3}, {0, 1}, {5, 0}};
  contract::AggregateState high;
  high.float_sums = {{kPositiveInfinity, 0}, {5, 0}, {0, 2, 2}, {1, 0, 2, 0}};
  auto groups = chunk_of({1}, {0}, low);
  ASSERT_TRUE(merge_groups({column}, chunk_of({1, 2}, {1, 2}, high), {}, groups));
  auto const& sums = groups.states[0].float_sums;
  EXPECT_EQ(sums.flags, (std::vector<std::uint8_t>{kNotANumber | kPositiveInfinity, 0}));
  EXPECT_EQ(sums.first_window[0], 3);
  EXPECT_EQ(sums.offsets, (Words{0, 4, 4}));
  EXPECT_EQ(sums.windows, (Words{5, 0, 0, 0, 1, 0, 2, 0}));
}

TEST(MergeGroups, WithoutKeysThereIsOneGroup) {
  resolve::StateColumn const column{std::nullopt, contract::ValueKind::none, contract::kCountState};
  auto groups = chunk_of({}, {0}, state_of({5}));
  ASSERT_TRUE(merge_groups({column}, chunk_of({}, {9}, state_of({6})), {}, groups));
  EXPECT_EQ(groups.head_rows, (Words{0}));
  EXPECT_EQ(groups.states[0].counts, (Words{11}));
}

}  // namespace
}  // namespace garuda::group_by
