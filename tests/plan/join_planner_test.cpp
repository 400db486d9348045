// The planner is a pure function: it is tested on made-up devices.
#include "operators/plan/join_planner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "operators/contract/join_kernel.hpp"
#include "tests/engine/fake_device.hpp"
#include "tests/plan/planner_shapes.hpp"

namespace garuda::plan {
namespace {

using testing::dense_join;
using testing::FakeDevice;

TEST(JoinPlanner, TakesTheCpuWithoutDevices) {
  auto const plan = plan_join(dense_join(1000, 1000), {}, {});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->plan.path, Path::cpu);
  EXPECT_FALSE(plan->offer.device);
}

TEST(JoinPlanner, PricesEveryWayOfADevice) {
  FakeDevice const gpu(vk::DeviceType::discrete);
  contract::Machine const machine{{gpu.facts()}, std::nullopt, {}};
  JoinOptions options;
  options.device = "0";
  auto const plan = plan_join(dense_join(50'000'000, 50'000'000), machine, options);
  ASSERT_TRUE(plan) << plan.error().describe();
  EXPECT_NE(plan->plan.path, Path::cpu);
  EXPECT_EQ(plan->offer.device, 0U);
  auto const ways = [&](Path path) { return std::ranges::count(plan->plan.candidates, path, &Candidate::path); };
  EXPECT_EQ(ways(Path::graphics), 24) << "six, with as few partitions as it takes and with more";
  EXPECT_EQ(ways(Path::compute), 2) << "methods";
  EXPECT_GE(ways(Path::cpu), 5);
  EXPECT_GE(std::uint64_t{1} << plan->plan.radix_bits, 50'000'000 / contract::kMaxPassRows);
}

/// Passes are mixed where a calibration says that it pays, or where that is asked for.
TEST(JoinPlanner, FindsMatchesByComputeWhereThatPays) {
  FakeDevice const gpu(vk::DeviceType::discrete);
  auto facts = gpu.facts();
  JoinOptions options;
  options.path = Path::graphics;
  auto const planned = [&] {
    return plan_join(dense_join(5'000'000, 5'000'000), {{facts}, std::nullopt, {}}, options);
  };
  auto const computed = [](JoinPlan const& plan) {
    return std::ranges::count_if(plan.plan.candidates, [](Candidate const& candidate) {
      return candidate.choices.find("matching=compute") != std::string::npos;
    });
  };
  auto const assumed = planned();
  ASSERT_TRUE(assumed) << assumed.error().describe();
  EXPECT_EQ(assumed->offer.tuning.matching, Matching::automatic);
  EXPECT_EQ(computed(*assumed), 0);

  auto rates = rates::default_device_rates(vk::DeviceType::discrete);
  rates.random_reads_per_s = 50 * rates.ordered_points_per_s;
  facts.measured = rates;
  auto const raster_is_slow = planned();
  ASSERT_TRUE(raster_is_slow) << raster_is_slow.error().describe();
  EXPECT_EQ(raster_is_slow->offer.tuning.matching, Matching::compute);
  EXPECT_NE(raster_is_slow->plan.tuning.find("matching=compute"), std::string::npos);
  // Matches are drawn, or found by compute passes.
  EXPECT_EQ(2 * computed(*raster_is_slow),
            std::ranges::count(raster_is_slow->plan.candidates, Path::graphics, &Candidate::path));
  rates.random_reads_per_s = rates.ordered_points_per_s / 50;
  facts.measured = rates;
  EXPECT_EQ(planned()->offer.tuning.matching, Matching::automatic);

  options.tuning.matching = Matching::compute;
  facts.measured.reset();
  auto const forced = planned();
  ASSERT_TRUE(forced) << forced.error().describe();
  EXPECT_EQ(computed(*forced), std::ranges::count(forced->plan.candidates, Path::graphics, &Candidate::path));
}

TEST(JoinPlanner, NeverTakesASoftwareDeviceByItself) {
  FakeDevice const software(vk::DeviceType::cpu);
  contract::Machine const machine{{software.facts()}, std::nullopt, {}};
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
  contract::Machine const machine{{gpu.facts()}, std::nullopt, {}};
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

TEST(JoinPlanner, TakesTheMethodThatIsAskedFor) {
  FakeDevice const gpu(vk::DeviceType::discrete);
  contract::Machine const machine{{gpu.facts()}, std::nullopt, {}};
  JoinOptions options;
  options.path = Path::compute;
  auto const shape = dense_join(4'000'000, 16'000'000);
  for (auto const method : {JoinMethod::partitioned, JoinMethod::global}) {
    options.tuning.method = method;
    auto const plan = plan_join(shape, machine, options);
    ASSERT_TRUE(plan) << plan.error().describe();
    EXPECT_EQ(plan->offer.tuning.method, method);
    EXPECT_EQ(plan->plan.tuning.find("method="), 0U) << plan->plan.tuning;
  }
}

TEST(JoinPlanner, APathThatCannotRunDoesNotStandInAnothersWay) {
  FakeDevice raster_alone(vk::DeviceType::discrete);
  raster_alone.traits.features.buffer_device_address = false;
  contract::Machine const machine{{raster_alone.facts()}, std::nullopt, {}};
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
  contract::Machine const machine{{gpu.facts()}, std::nullopt, {}};
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
  contract::Machine const machine{{gpu.facts()}, std::nullopt, {}};
  JoinOptions options;
  options.path = Path::graphics;
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
  EXPECT_GE(large->plan.radix_bits, 4U);
}

TEST(JoinPlanner, PayloadIsCarriedWhereItPaysAndFits) {
  using Columns = std::vector<std::size_t>;
  JoinOptions options;
  options.path = Path::cpu;
  options.tuning.radix_bits = 8;
  auto const shape = dense_join(16'000'000, 16'000'000);
  auto const carrying = plan_join(shape, {}, options);
  ASSERT_TRUE(carrying);
  EXPECT_EQ(carrying->offer.carried, (Columns{1, 2})) << "all but the key";
  options.tuning.payload = Payload::gather;
  auto const gathering = plan_join(shape, {}, options);
  ASSERT_TRUE(gathering);
  EXPECT_EQ(gathering->offer.carried, Columns{});
  EXPECT_GE(carrying->plan.host_bytes, gathering->plan.host_bytes + 2 * 4 * 16'000'000);

  options.tuning.payload = Payload::automatic;
  auto strings = shape;
  strings.output[2] = {Side::right, 1, 20, false, false};
  EXPECT_EQ(plan_join(strings, {}, options)->offer.carried, Columns{1}) << "what is not plain stays";
  auto few = dense_join(16'000'000, 64'000'000);
  few.expected_matches = 1000;
  few.output[1].bytes = few.output[2].bytes = 16;
  EXPECT_EQ(plan_join(few, {}, options)->offer.carried, Columns{}) << "hardly any row is wanted";

  options.memory_limit_bytes = 600'000'000;
  auto const limited = plan_join(shape, {}, options);
  ASSERT_TRUE(limited);
  EXPECT_EQ(limited->offer.carried, Columns{});
  EXPECT_LE(limited->plan.host_bytes, options.memory_limit_bytes);
  options.memory_limit_bytes = 0;
  options.tuning.radix_bits = 0;
  EXPECT_EQ(plan_join(shape, {}, options)->offer.carried, Columns{}) << "nothing is partitioned";
}

TEST(JoinPlanner, CarryingAsksForEveryPlainColumnOnce) {
  JoinOptions options;
  options.path = Path::cpu;
  options.tuning.payload = Payload::carry;
  options.tuning.radix_bits = 2;
  auto shape = dense_join(10'000, 10'000);
  shape.output.push_back(shape.output[1]);
  auto const plan = plan_join(shape, {}, options);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->offer.carried, (std::vector<std::size_t>{1, 2}));
}

TEST(JoinPlanner, BuildsOnTheSideWhoseKeysDiffer) {
  JoinOptions options;
  options.path = Path::cpu;
  auto shape = testing::sparse_join(2'000'000, 1'000'000);
  shape.left.distinct = 2'000'000;
  shape.right.distinct = 1'000'000;
  EXPECT_EQ(plan_join(shape, {}, options)->offer.tuning.build, BuildSide::automatic) << "the smaller one, as always";
  shape.right.distinct = 100'000;
  EXPECT_EQ(plan_join(shape, {}, options)->offer.tuning.build, BuildSide::left);
  options.tuning.build = BuildSide::right;
  EXPECT_EQ(plan_join(shape, {}, options)->offer.tuning.build, BuildSide::right) << "what is asked for is kept";
}

TEST(JoinPlanner, RadixBitsPayloadAndChunksAreSearched) {
  JoinOptions options;
  options.path = Path::cpu;
  auto const plan = plan_join(dense_join(1'000'000, 1'000'000), {}, options);
  ASSERT_TRUE(plan);
  std::set<std::string> choices;
  for (auto const& candidate : plan->plan.candidates)
    choices.insert(candidate.choices.substr(0, candidate.choices.rfind(",")));
  for (auto const* expected : {"radix_bits=0", "payload=gather,radix_bits=2", "payload=carry,radix_bits=8"})
    EXPECT_TRUE(choices.contains(expected)) << expected;
  EXPECT_EQ(choices.size(), plan->plan.candidates.size()) << "each once";
  EXPECT_NE(plan->plan.choices.find("chunk_rows="), std::string::npos);
  EXPECT_EQ(plan_join(dense_join(1000, 1000), {}, options)->plan.candidates.size(), 1U) << "too few rows to partition";
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
}  // namespace garuda::plan
