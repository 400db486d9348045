// The planner on recorded calibrations: what it must choose whatever the numbers are.
#include "operators/cost_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>

#include "operators/calibration/calibration_file.hpp"
#include "operators/join_kernel.hpp"
#include "tests/operators/fake_device.hpp"
#include "tests/operators/planner_shapes.hpp"

namespace garuda::operators {
namespace {

using testing::dense_join;
using testing::FakeDevice;
using testing::sparse_join;
using testing::summed_groups;

constexpr std::array kGpus{"h200", "consumer", "integrated"};
constexpr std::array kSoftware{"lavapipe", "swiftshader"};

std::filesystem::path recorded(std::string const& name) {
  return std::filesystem::path(GARUDA_TEST_CALIBRATIONS) / (name + ".json");
}

DeviceRates device_rates(std::string const& name) {
  auto rates = calibration::read_recorded_device(recorded(name));
  EXPECT_TRUE(rates) << rates.error().describe();
  return rates.value_or(DeviceRates{});
}

HostRates host_rates(std::string const& name = "host") {
  auto rates = calibration::read_recorded_host(recorded(name));
  EXPECT_TRUE(rates) << rates.error().describe();
  return rates.value_or(HostRates{});
}

vk::DeviceType type_of(std::string const& name) {
  if (name == "integrated") return vk::DeviceType::integrated;
  return name == "h200" || name == "consumer" ? vk::DeviceType::discrete : vk::DeviceType::cpu;
}

/// A host and one device with recorded rates.
struct RecordedMachine {
  explicit RecordedMachine(std::string const& name) : device(type_of(name)) {
    auto facts = device.facts();
    facts.measured = device_rates(name);
    device.traits.features.external_memory_host = true;
    device.traits.unified_memory = type_of(name) != vk::DeviceType::discrete;
    machine.devices.push_back(std::move(facts));
    machine.measured_host = host_rates();
  }
  RecordedMachine(RecordedMachine const&) = delete;

  FakeDevice device;
  Machine machine;
};

JoinPlan plan(JoinShape const& shape, RecordedMachine const& recorded_machine, JoinOptions const& options = {}) {
  auto plan = plan_join(shape, recorded_machine.machine, options);
  EXPECT_TRUE(plan) << plan.error().describe();
  return plan ? std::move(*plan) : JoinPlan{};
}

TEST(CostModel, EveryCandidateIsPricedByPhase) {
  for (auto const* name : kGpus) {
    RecordedMachine const recorded_machine(name);
    auto const planned = plan(dense_join(1'000'000, 1'000'000), recorded_machine);
    EXPECT_GE(planned.plan.candidates.size(), 7U) << "the CPU, and three ways for each kind of address";
    for (auto const& candidate : planned.plan.candidates) {
      EXPECT_GT(candidate.estimated_ns, 0) << name << " " << candidate.choices;
      double sum = 0;
      for (auto const& [phase, ns] : candidate.phases_ns) {
        EXPECT_GT(ns, 0) << phase;
        sum += ns;
      }
      EXPECT_NEAR(sum, candidate.estimated_ns, candidate.estimated_ns * 1e-9);
    }
    EXPECT_EQ(planned.plan.estimated.estimated_ns,
              std::ranges::min(planned.plan.candidates, {}, &Candidate::estimated_ns).estimated_ns);
  }
}

TEST(CostModel, CostsGrowWithRows) {
  for (auto const* name : {"h200", "consumer", "integrated", "lavapipe", "swiftshader"}) {
    RecordedMachine const recorded_machine(name);
    for (auto const path : {Path::cpu, Path::graphics}) {
      JoinOptions join;
      join.path = path;
      GroupByOptions group_by;
      group_by.path = path;
      double last_join = 0;
      double last_group_by = 0;
      for (std::uint64_t rows = 1000; rows <= 100'000'000; rows *= 10) {
        auto const joined = plan(sparse_join(rows, rows), recorded_machine, join).plan.estimated.estimated_ns;
        EXPECT_GT(joined, last_join) << name << " " << to_string(path) << " " << rows;
        last_join = joined;
        auto const grouped = plan_group_by(summed_groups(rows, rows / 10), recorded_machine.machine, group_by);
        ASSERT_TRUE(grouped) << grouped.error().describe();
        EXPECT_GT(grouped->plan.estimated.estimated_ns, last_group_by) << name << " " << to_string(path) << " " << rows;
        last_group_by = grouped->plan.estimated.estimated_ns;
      }
    }
  }
}

TEST(CostModel, DenseKeysAreAddressedDirectly) {
  for (auto const* name : kGpus) {
    RecordedMachine const recorded_machine(name);
    JoinOptions options;
    options.path = Path::graphics;
    auto const dense = plan(dense_join(4'000'000, 4'000'000), recorded_machine, options);
    EXPECT_NE(dense.plan.estimated.choices.find("address=direct"), std::string::npos) << dense.plan.estimated.choices;
    auto const sparse = plan(sparse_join(4'000'000, 4'000'000), recorded_machine, options);
    EXPECT_NE(sparse.plan.estimated.choices.find("address=hash"), std::string::npos) << sparse.plan.estimated.choices;
  }
}

TEST(CostModel, ManyEqualKeysAreNotStacked) {
  for (auto const* name : kGpus) {
    RecordedMachine const recorded_machine(name);
    auto shape = dense_join(1'000'000, 1'000'000);
    shape.distinct_left = shape.distinct_right = 10'000;
    shape.expected_matches = 100e6;
    JoinOptions options;
    options.path = Path::graphics;
    auto const planned = plan(shape, recorded_machine, options);
    EXPECT_NE(planned.plan.estimated.choices.find("storage=runs"), std::string::npos) << planned.plan.estimated.choices;
  }
}

TEST(CostModel, TinyTablesStayOnTheCpu) {
  for (auto const* name : kGpus) {
    RecordedMachine const recorded_machine(name);
    EXPECT_EQ(plan(dense_join(1000, 1000), recorded_machine).plan.path, Path::cpu) << name;
    auto const grouped = plan_group_by(summed_groups(1000, 10), recorded_machine.machine, {});
    ASSERT_TRUE(grouped);
    EXPECT_EQ(grouped->plan.path, Path::cpu) << name;
  }
}

TEST(CostModel, LargeCountsOfTwoThreadsGoToAGpu) {
  RecordedMachine const recorded_machine("consumer");
  auto shape = dense_join(kMaxPassRows, kMaxPassRows);
  shape.output.clear();
  shape.expected_matches = 0;
  EXPECT_NE(plan(shape, recorded_machine).plan.path, Path::cpu);
}

TEST(CostModel, ASoftwareDeviceIsNeverTakenUnasked) {
  for (auto const* name : kSoftware) {
    RecordedMachine recorded_machine(name);
    // However fast it says that it is.
    auto& rates = *recorded_machine.machine.devices[0].measured;
    for (double factor : {1.0, 1e6}) {
      for (auto const& field : calibration::device_rate_fields()) {
        auto const is_time = field.unit == "ns";
        rates.*field.value *= is_time ? 1 / factor : factor;
      }
      for (std::uint64_t rows : {1000ULL, 1'000'000ULL, 100'000'000ULL}) {
        EXPECT_EQ(plan(dense_join(rows, rows), recorded_machine).plan.path, Path::cpu);
        EXPECT_EQ(plan_group_by(summed_groups(rows, 100), recorded_machine.machine, {})->plan.path, Path::cpu);
      }
    }
    JoinOptions named;
    named.device = "0";
    EXPECT_NE(plan(dense_join(1000, 1000), recorded_machine, named).plan.path, Path::cpu);
  }
}

/// What was the fastest where the rates were recorded: an H200, whose host has 16 threads.
TEST(CostModel, ChoicesOfAnH200AreThoseMeasured) {
  RecordedMachine recorded_machine("h200");
  recorded_machine.machine.measured_host = host_rates("h200_host");
  auto const join_path = [&](JoinShape shape) {
    shape.threads = recorded_machine.machine.measured_host->threads;
    return plan(shape, recorded_machine).plan.path;
  };
  for (auto const bits : {12, 16, 20, 24, 26, 28})
    EXPECT_NE(join_path(dense_join(std::uint64_t{1} << bits, std::uint64_t{1} << bits)), Path::graphics) << bits;
  for (auto const bits : {12, 16, 20, 22})
    EXPECT_EQ(join_path(dense_join(std::uint64_t{1} << bits, std::uint64_t{1} << bits)), Path::cpu) << bits;
  EXPECT_EQ(join_path(dense_join(1 << 20, 1 << 26)), Path::cpu);
  auto few = dense_join(1 << 22, 1 << 24);
  few.expected_matches = 0.03 * (1 << 24);
  EXPECT_EQ(join_path(few), Path::compute) << "hardly anything to gather";
  for (auto const rows : {16, 20, 22, 24, 26})
    for (std::uint64_t const groups : {16, 1 << 16, 1 << 20}) {
      if (groups > std::uint64_t{1} << rows) continue;
      auto shape = summed_groups(std::uint64_t{1} << rows, groups);
      shape.threads = recorded_machine.machine.measured_host->threads;
      auto const grouped = plan_group_by(shape, recorded_machine.machine, {});
      ASSERT_TRUE(grouped) << grouped.error().describe();
      EXPECT_EQ(grouped->plan.path, Path::cpu) << rows << " " << groups;
    }
}

/// Beside the H200, 2^24 dense rows a side: 126 to 242 ms with tables that 16 lanes wait for one after the other (0 to
/// 6 radix bits), 30 ms with 2^8 partitions and carried payload; 2^22 rows of any keys 36 to 60 and 12.5 ms.
TEST(CostModel, SixteenLanesMakeTablesOfTheirOwn) {
  RecordedMachine recorded_machine("h200");
  recorded_machine.machine.measured_host = host_rates("h200_host");
  JoinOptions options;
  options.path = Path::cpu;
  for (auto const bits : {22, 24, 26})
    for (auto shape : {dense_join(1ULL << bits, 1ULL << bits), sparse_join(1ULL << bits, 1ULL << bits)}) {
      shape.threads = recorded_machine.machine.measured_host->threads;
      auto const chosen = plan(shape, recorded_machine, options);
      EXPECT_LE(shape.rows_left >> chosen.plan.radix_bits, kLaneTableRows) << bits;
      EXPECT_EQ(chosen.carried.size(), 2U) << bits;
      auto forced = options;
      forced.tuning.radix_bits = bits - 20;
      EXPECT_GT(plan(shape, recorded_machine, forced).plan.estimated.estimated_ns,
                1.5 * chosen.plan.estimated.estimated_ns)
          << "tables of 2^20 rows";
    }
}

TEST(CostModel, TablesOfSharedPartitionsAreMadeByEachLane) {
  auto host = host_rates("h200_host");
  auto const build_ns = [&](std::uint32_t bits) {
    for (auto const& [phase, ns] : cpu_join_costs(dense_join(1 << 16, 1 << 26), {bits, {}, kLargestChunkRows}, host))
      if (phase == "build") return ns;
    return 0.0;
  };
  EXPECT_GT(build_ns(2), 4 * build_ns(8)) << "16 lanes, each with tasks of four partitions";
}

TEST(CostModel, UploadFollowsTheRates) {
  JoinOptions options;
  options.path = Path::graphics;
  auto const shape = dense_join(4'194'304, 4'194'304);
  RecordedMachine h200("h200");
  EXPECT_EQ(plan(shape, h200, options).tuning.upload, Upload::import) << "faster than staging there";
  EXPECT_NE(plan(dense_join(500, 500), h200, options).tuning.upload, Upload::import) << "importing has a price";
  h200.device.traits.features.external_memory_host = false;
  EXPECT_EQ(plan(shape, h200, options).tuning.upload, Upload::map) << "of what is left";
  options.tuning.upload = Upload::stage;
  EXPECT_EQ(plan(shape, h200, options).tuning.upload, Upload::stage) << "what is asked for is kept";
}

TEST(CostModel, MemoryLimitsAreKept) {
  for (auto const* name : kGpus) {
    RecordedMachine const recorded_machine(name);
    JoinOptions options;
    options.path = Path::graphics;
    options.device_memory_limit_bytes = std::uint64_t{256} << 20;
    options.memory_limit_bytes = std::uint64_t{1} << 30;
    auto const planned = plan(sparse_join(20'000'000, 20'000'000), recorded_machine, options);
    EXPECT_LE(planned.plan.device_bytes, options.device_memory_limit_bytes);
    EXPECT_LE(planned.plan.host_bytes, options.memory_limit_bytes);
  }
}

TEST(CostModel, PartitionsCostWhatTheySave) {
  auto const host = host_rates();
  auto const costs = [&](JoinShape const& shape, std::uint32_t bits, std::vector<std::size_t> carried = {}) {
    return total_ns(cpu_join_costs(shape, {bits, std::move(carried), kLargestChunkRows}, host));
  };
  auto const small = dense_join(1000, 1000);
  EXPECT_LT(costs(small, 0), costs(small, 8)) << "nothing to gain";
  auto const large = sparse_join(16'000'000, 16'000'000);
  EXPECT_LT(costs(large, 10), costs(large, 0)) << "tables stay in the cache";
  EXPECT_LT(costs(large, 10, {1, 2}), costs(large, 10)) << "so do carried columns";
  auto repeated = large;
  repeated.distinct_left = repeated.distinct_right = 1e6;
  EXPECT_GT(costs(repeated, 10), costs(large, 10)) << "runs are built";
  auto wide = large;
  for (auto& column : wide.output) column.bytes = 16;
  EXPECT_GT(costs(wide, 10), costs(large, 10));
}

TEST(CostModel, TheCheapestRadixBitsAreChosen) {
  RecordedMachine const recorded_machine("consumer");
  JoinOptions options;
  options.path = Path::cpu;
  for (std::uint64_t rows = 1000; rows <= 100'000'000; rows *= 10) {
    auto const shape = sparse_join(rows, rows);
    auto const chosen = plan(shape, recorded_machine, options);
    for (std::int32_t bits = 0; bits <= 12; bits += 2) {
      auto forced = options;
      forced.tuning.radix_bits = bits;
      // Forced bits may leave partitions of too few rows to be searched.
      if (bits > 0 && (rows >> bits) < 512) continue;
      EXPECT_LE(chosen.plan.estimated.estimated_ns,
                plan(shape, recorded_machine, forced).plan.estimated.estimated_ns * (1 + 1e-9))
          << rows << " " << bits;
    }
  }
}

Grouping grouping_of(GroupByShape const& shape, RecordedMachine const& recorded_machine, std::uint64_t limit = 0) {
  GroupByOptions options;
  options.path = Path::cpu;
  options.memory_limit_bytes = limit;
  auto const planned = plan_group_by(shape, recorded_machine.machine, options);
  EXPECT_TRUE(planned) << planned.error().describe();
  return planned ? planned->grouping : Grouping::automatic;
}

TEST(CostModel, GroupingFollowsKeyRangeAndGroups) {
  RecordedMachine const recorded_machine("consumer");
  constexpr auto kRows = std::uint64_t{1} << 26;
  auto const sparse = [](std::uint64_t rows, std::uint64_t groups) {
    auto shape = summed_groups(rows, groups);
    shape.key_range = shape.whole->slots = 0;
    shape.key_bits = 64;
    return shape;
  };
  EXPECT_EQ(grouping_of(summed_groups(kRows, 1 << 12), recorded_machine), Grouping::direct);
  EXPECT_EQ(grouping_of(summed_groups(kRows, 1 << 24), recorded_machine), Grouping::partitioned);
  for (auto const groups : {1 << 18, 1 << 20})
    EXPECT_NE(grouping_of(summed_groups(kRows, groups), recorded_machine), Grouping::direct)
        << "accumulators beyond the second-level cache";
  EXPECT_EQ(grouping_of(summed_groups(kRows, 1 << 20), recorded_machine, 1 << 30), Grouping::direct)
      << "no room to partition";
  auto gaps = summed_groups(1000, 1000);
  gaps.whole->slots = 1 << 24;
  EXPECT_NE(grouping_of(gaps, recorded_machine), Grouping::direct) << "more slots than rows are not worth clearing";
  EXPECT_EQ(grouping_of(sparse(kRows, 64), recorded_machine), Grouping::local);
  EXPECT_EQ(grouping_of(sparse(kRows, 1 << 24), recorded_machine), Grouping::partitioned);
  EXPECT_EQ(grouping_of(sparse(kRows, 64), recorded_machine, 1 << 28), Grouping::slices) << "no memory for more";
  auto none = summed_groups(kRows, 1);
  none.key_bits = 0;
  none.whole = WholeSizes{false, 1, 9, 0};
  EXPECT_EQ(grouping_of(none, recorded_machine), Grouping::direct);
  auto words = summed_groups(kRows, 1000);
  words.key_bits = 0;
  words.key_words = 4;
  words.whole.reset();
  EXPECT_EQ(grouping_of(words, recorded_machine), Grouping::slices);
}

TEST(CostModel, GroupingsThatTheKeysDoNotAllowAreRefused) {
  RecordedMachine const recorded_machine("consumer");
  GroupByOptions options;
  options.path = Path::cpu;
  options.tuning.grouping = Grouping::direct;
  auto shape = summed_groups(1000, 9);
  shape.whole->slots = 0;
  auto const refused = plan_group_by(shape, recorded_machine.machine, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::usage);
  EXPECT_EQ(refused.error().message(), "grouping=direct needs a key range of at most 268435456 values");
  shape.whole.reset();
  shape.key_bits = 0;
  shape.key_words = 4;
  EXPECT_EQ(plan_group_by(shape, recorded_machine.machine, options).error().message(),
            "only grouping=slices takes keys of several words");
}

TEST(CostModel, SaysWhetherRatesWereMeasured) {
  RecordedMachine recorded_machine("h200");
  auto const rates_of = [&] {
    auto const text = to_string(plan(dense_join(1000, 1000), recorded_machine).plan);
    return text.substr(text.find("\nrates"));
  };
  EXPECT_NE(rates_of().find("of the host measured"), std::string::npos);
  recorded_machine.machine.measured_host.reset();
  recorded_machine.machine.devices[0].measured.reset();
  EXPECT_NE(rates_of().find("assumed, not calibrated"), std::string::npos);
  recorded_machine.machine.notes = {"calibration ignored"};
  EXPECT_NE(rates_of().find("note        calibration ignored"), std::string::npos);
}

}  // namespace
}  // namespace garuda::operators
