// The planner is a pure function: it is tested on made-up devices.
#include "operators/join_planner.hpp"

#include <gtest/gtest.h>

#include "operators/join_kernel.hpp"
#include "tests/operators/fake_device.hpp"
#include "tests/operators/planner_shapes.hpp"

namespace garuda::operators {
namespace {

using testing::dense_join;
using testing::FakeDevice;

TEST(JoinPlanner, TakesTheCpuWithoutDevices) {
  auto const plan = plan_join(dense_join(1000, 1000), {}, {});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->plan.path, Path::cpu);
  EXPECT_FALSE(plan->device);
}

TEST(JoinPlanner, TakesADiscreteDeviceForLargeTables) {
  FakeDevice const gpu(vk::DeviceType::discrete);
  Machine const machine{{gpu.facts()}, std::nullopt, {}};
  auto const plan = plan_join(dense_join(50'000'000, 50'000'000), machine, {});
  ASSERT_TRUE(plan) << plan.error().describe();
  EXPECT_NE(plan->plan.path, Path::cpu);
  EXPECT_EQ(plan->device, 0U);
  EXPECT_EQ(plan->plan.candidates.size(), 1U + 6U + 2U)
      << "the CPU, every way of the graphics path, and two methods of the compute path";
  EXPECT_GE(std::uint64_t{1} << plan->plan.radix_bits, 50'000'000 / kMaxPassRows);
}

TEST(JoinPlanner, NeverTakesASoftwareDeviceByItself) {
  FakeDevice const software(vk::DeviceType::cpu);
  Machine const machine{{software.facts()}, std::nullopt, {}};
  auto const automatic = plan_join(dense_join(100'000, 100'000), machine, {});
  ASSERT_TRUE(automatic);
  EXPECT_EQ(automatic->plan.path, Path::cpu);

  JoinOptions graphics;
  graphics.path = Path::graphics;
  auto const forced = plan_join(dense_join(100'000, 100'000), machine, graphics);
  ASSERT_TRUE(forced) << forced.error().describe();
  EXPECT_EQ(forced->plan.path, Path::graphics);
  ASSERT_EQ(forced->plan.notes.size(), 1U);

  JoinOptions named;
  named.device = "0";
  auto const by_device = plan_join(dense_join(100'000, 100'000), machine, named);
  ASSERT_TRUE(by_device) << by_device.error().describe();
  EXPECT_NE(by_device->plan.path, Path::cpu);
}

TEST(JoinPlanner, RefusesPathsThatCannotRun) {
  JoinOptions graphics;
  graphics.path = Path::graphics;
  auto const none = plan_join(dense_join(10, 10), {}, graphics);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::no_device);

  JoinOptions cuda;
  cuda.path = Path::cuda;
  auto const absent = plan_join(dense_join(10, 10), {}, cuda);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code(), ErrorCode::no_device);

  JoinOptions cpu_with_device;
  cpu_with_device.path = Path::cpu;
  cpu_with_device.device = "0";
  auto const contradiction = plan_join(dense_join(10, 10), {}, cpu_with_device);
  ASSERT_FALSE(contradiction);
  EXPECT_EQ(contradiction.error().code(), ErrorCode::usage);
}

TEST(JoinPlanner, TheComputePathCutsOnTheHostWhatOnePassDoesNotTake) {
  FakeDevice const gpu(vk::DeviceType::discrete);
  Machine const machine{{gpu.facts()}, std::nullopt, {}};
  JoinOptions options;
  options.path = Path::compute;
  auto const small = plan_join(dense_join(10'000'000, 16'000'000), machine, options);
  ASSERT_TRUE(small) << small.error().describe();
  EXPECT_EQ(small->plan.path, Path::compute);
  EXPECT_EQ(small->plan.radix_bits, 0U);
  EXPECT_GT(small->plan.device_bytes, 26'000'000U * 20);
  auto const large = plan_join(dense_join(100'000'000, 100'000'000), machine, options);
  ASSERT_TRUE(large);
  EXPECT_GE(large->plan.radix_bits, 3U);
  options.device_memory_limit_bytes = std::uint64_t{32} << 20;
  auto const limited = plan_join(dense_join(10'000'000, 16'000'000), machine, options);
  ASSERT_TRUE(limited);
  EXPECT_GT(limited->plan.radix_bits, 0U);
  EXPECT_LE(limited->plan.device_bytes, options.device_memory_limit_bytes);
}

TEST(JoinPlanner, SortsWhenAskedTo) {
  FakeDevice const gpu(vk::DeviceType::discrete);
  Machine const machine{{gpu.facts()}, std::nullopt, {}};
  JoinOptions options;
  options.path = Path::compute;
  auto const shape = dense_join(4'000'000, 16'000'000);
  EXPECT_NE(plan_join(shape, machine, options)->tuning.method, JoinMethod::sorted);
  for (auto const method : {JoinMethod::partitioned, JoinMethod::global, JoinMethod::sorted}) {
    options.tuning.method = method;
    auto const plan = plan_join(shape, machine, options);
    ASSERT_TRUE(plan) << plan.error().describe();
    EXPECT_EQ(plan->tuning.method, method);
    EXPECT_EQ(plan->plan.tuning.find("method="), 0U) << plan->plan.tuning;
  }
}

TEST(JoinPlanner, APathThatCannotRunDoesNotStandInAnothersWay) {
  FakeDevice raster_alone(vk::DeviceType::discrete);
  raster_alone.traits.features.buffer_device_address = false;
  Machine const machine{{raster_alone.facts()}, std::nullopt, {}};
  JoinOptions options;
  options.device = "0";
  for (auto const path : {Path::graphics, Path::automatic}) {
    options.path = path;
    auto const plan = plan_join(dense_join(1000, 1000), machine, options);
    ASSERT_TRUE(plan) << plan.error().describe();
    EXPECT_EQ(plan->plan.path, Path::graphics);
  }
  options.path = Path::compute;
  auto const refused = plan_join(dense_join(1000, 1000), machine, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::no_device);
  EXPECT_NE(refused.error().describe().find("bufferDeviceAddress"), std::string::npos) << refused.error().describe();
}

TEST(JoinPlanner, RefusesInstancedProbeOfRuns) {
  FakeDevice const gpu(vk::DeviceType::discrete);
  Machine const machine{{gpu.facts()}, std::nullopt, {}};
  JoinOptions options;
  options.path = Path::graphics;
  options.tuning.storage = Storage::runs;
  options.tuning.probe = Probe::instanced;
  auto const plan = plan_join(dense_join(10, 10), machine, options);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code(), ErrorCode::usage);
}

TEST(JoinPlanner, ADeviceMemoryLimitForcesPartitions) {
  FakeDevice const gpu(vk::DeviceType::discrete);
  Machine const machine{{gpu.facts()}, std::nullopt, {}};
  JoinOptions options;
  options.path = Path::graphics;
  options.tuning.result = 64;
  auto const free = plan_join(dense_join(1'000'000, 1'000'000), machine, options);
  options.device_memory_limit_bytes = std::uint64_t{8} << 20;
  auto const limited = plan_join(dense_join(1'000'000, 1'000'000), machine, options);
  ASSERT_TRUE(free);
  ASSERT_TRUE(limited) << limited.error().describe();
  EXPECT_GT(limited->plan.radix_bits, free->plan.radix_bits);
  EXPECT_LE(limited->plan.device_bytes, options.device_memory_limit_bytes);
}

TEST(JoinPlanner, AMemoryLimitShrinksChunksAndThenRefuses) {
  JoinOptions options;
  options.path = Path::cpu;
  options.memory_limit_bytes = std::uint64_t{64} << 20;
  auto const limited = plan_join(dense_join(1'000'000, 1'000'000), {}, options);
  ASSERT_TRUE(limited) << limited.error().describe();
  EXPECT_LT(limited->plan.chunk_rows, plan_join(dense_join(1'000'000, 1'000'000), {}, {})->plan.chunk_rows);
  EXPECT_LE(limited->plan.host_bytes, options.memory_limit_bytes);

  options.memory_limit_bytes = std::uint64_t{1} << 20;
  auto const refused = plan_join(dense_join(1'000'000, 1'000'000), {}, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::limit_exceeded);
}

TEST(JoinPlanner, TheCpuDoesNotPartitionWhatTheCacheHolds) {
  JoinOptions options;
  options.path = Path::cpu;
  auto const small = plan_join(dense_join(100'000, 60'000'000), {}, options);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->plan.radix_bits, 0U);
  auto const large = plan_join(dense_join(16'000'000, 60'000'000), {}, options);
  ASSERT_TRUE(large);
  EXPECT_GE(large->plan.radix_bits, 8U);
}

TEST(JoinPlanner, PayloadIsCarriedWhereItFits) {
  JoinOptions options;
  options.path = Path::cpu;
  auto shape = dense_join(16'000'000, 16'000'000);
  auto const bare = plan_join(shape, {}, options);
  ASSERT_TRUE(bare);
  EXPECT_FALSE(bare->carries_payload);
  shape.carried_bytes = 256'000'000;
  auto const carrying = plan_join(shape, {}, options);
  ASSERT_TRUE(carrying);
  EXPECT_TRUE(carrying->carries_payload);
  EXPECT_GE(carrying->plan.host_bytes, bare->plan.host_bytes + shape.carried_bytes);
  options.memory_limit_bytes = 600'000'000;
  auto const limited = plan_join(shape, {}, options);
  ASSERT_TRUE(limited);
  EXPECT_FALSE(limited->carries_payload);
  EXPECT_LE(limited->plan.host_bytes, options.memory_limit_bytes);
  options.memory_limit_bytes = 0;
  options.tuning.radix_bits = 0;
  EXPECT_FALSE(plan_join(shape, {}, options)->carries_payload);
}

TEST(JoinPlanner, TuningsAreKept) {
  JoinOptions options;
  options.path = Path::cpu;
  options.tuning.radix_bits = 7;
  options.tuning.slice_rows = 100;
  options.tuning.lanes = 3;
  options.tuning.chunk_rows = 50;
  auto const plan = plan_join(dense_join(1000, 1000), {}, options);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->plan.radix_bits, 7U);
  EXPECT_EQ(plan->plan.slice_rows, 100U);
  EXPECT_EQ(plan->plan.lanes, 3U);
  EXPECT_EQ(plan->plan.chunk_rows, 50U);
}

}  // namespace
}  // namespace garuda::operators
