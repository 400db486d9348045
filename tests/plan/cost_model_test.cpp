// The planner on recorded calibrations: what it must choose whatever the numbers are.
#include "operators/contract/offers/costs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "operators/contract/join_kernel.hpp"
#include "operators/cpu/join/join_strategies.hpp"
#include "operators/plan/group_by_planner.hpp"
#include "operators/plan/join_planner.hpp"
#include "tests/plan/planner_shapes.hpp"
#include "tests/plan/recorded_machine.hpp"

namespace garuda::plan {
namespace {

using testing::dense_join;
using testing::host_rates;
using testing::kGpus;
using testing::kSoftware;
using testing::RecordedMachine;
using testing::sparse_join;
using testing::summed_groups;
using testing::type_of;

JoinPlan plan(contract::JoinShape const& shape, RecordedMachine const& recorded_machine,
              JoinOptions const& options = {}) {
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
    EXPECT_EQ(planned.plan.estimated_ns,
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
        auto const joined = plan(sparse_join(rows, rows), recorded_machine, join).plan.estimated_ns;
        EXPECT_GT(joined, last_join) << name << " " << to_string(path) << " " << rows;
        last_join = joined;
        auto const grouped = plan_group_by(summed_groups(rows, rows / 10), recorded_machine.machine, group_by);
        ASSERT_TRUE(grouped) << grouped.error().describe();
        EXPECT_GT(grouped->plan.estimated_ns, last_group_by) << name << " " << to_string(path) << " " << rows;
        last_group_by = grouped->plan.estimated_ns;
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
    EXPECT_NE(dense.plan.choices.find("address=direct"), std::string::npos) << dense.plan.choices;
    auto const sparse = plan(sparse_join(4'000'000, 4'000'000), recorded_machine, options);
    EXPECT_NE(sparse.plan.choices.find("address=hash"), std::string::npos) << sparse.plan.choices;
  }
}

TEST(CostModel, ManyEqualKeysAreNotStacked) {
  for (auto const* name : kGpus) {
    RecordedMachine const recorded_machine(name);
    auto shape = dense_join(1'000'000, 1'000'000);
    shape.left.distinct = shape.right.distinct = 10'000;
    shape.expected_matches = 100e6;
    JoinOptions options;
    options.path = Path::graphics;
    auto const planned = plan(shape, recorded_machine, options);
    EXPECT_NE(planned.plan.choices.find("storage=runs"), std::string::npos) << planned.plan.choices;
  }
}

/// Lavapipe, 10^5 rows a side: 165 ms as one slice, 97 ms in 2^4 partitions, whose draws stay in the cores' caches; the
/// group-by of as many rows 101 and 62 ms. A GPU draws a few points no faster than many.
TEST(CostModel, SoftwareRasterisersGetSmallDraws) {
  JoinOptions join;
  join.path = Path::graphics;
  join.device = "0";
  GroupByOptions group_by;
  group_by.path = Path::graphics;
  group_by.device = "0";
  for (auto const* name : {"lavapipe", "h200"}) {
    RecordedMachine const recorded_machine(name);
    auto const joined = plan(dense_join(100'000, 100'000), recorded_machine, join);
    auto const grouped = plan_group_by(summed_groups(100'000, 25'000), recorded_machine.machine, group_by);
    ASSERT_TRUE(grouped) << grouped.error().describe();
    bool const is_software = type_of(name) == vk::DeviceType::cpu;
    EXPECT_EQ(joined.plan.radix_bits > 0, is_software) << name;
    EXPECT_EQ(grouped->plan.radix_bits > 0, is_software) << name;
    EXPECT_LT(joined.offer.tuning.radix_bits, 0) << "the tuning is the caller's";
    EXPECT_EQ(plan(dense_join(4'000, 4'000), recorded_machine, join).plan.radix_bits, 0U) << "little to gain";
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
  auto shape = dense_join(contract::kMaxPassRows, contract::kMaxPassRows);
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
      for (auto const& field : rates::device_rate_fields()) {
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

/// Choices are those that were the fastest on the machine of the rates: an H200, whose host has 16 threads.
TEST(CostModel, ChoicesOfAnH200AreThoseMeasured) {
  RecordedMachine const recorded_machine("h200", "h200_host");
  auto const join_path = [&](contract::JoinShape shape) {
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
  RecordedMachine const recorded_machine("h200", "h200_host");
  JoinOptions options;
  options.path = Path::cpu;
  for (auto const bits : {22, 24, 26})
    for (auto shape : {dense_join(1ULL << bits, 1ULL << bits), sparse_join(1ULL << bits, 1ULL << bits)}) {
      shape.threads = recorded_machine.machine.measured_host->threads;
      auto const chosen = plan(shape, recorded_machine, options);
      EXPECT_LE(shape.left.rows >> chosen.plan.radix_bits, contract::kLaneTableRows) << bits;
      EXPECT_EQ(chosen.offer.carried.size(), 2U) << bits;
      auto forced = options;
      forced.tuning.radix_bits = bits - 20;
      EXPECT_GT(plan(shape, recorded_machine, forced).plan.estimated_ns, 1.5 * chosen.plan.estimated_ns)
          << "tables of 2^20 rows";
    }
}

TEST(CostModel, TablesOfSharedPartitionsAreMadeByEachLane) {
  auto host = host_rates("h200_host");
  auto const build_ns = [&](std::uint32_t bits) {
    for (auto const& [phase, ns] :
         cpu::cpu_join_costs(dense_join(1 << 16, 1 << 26), {bits, {}, contract::kLargestChunkRows}, host))
      if (phase == "build") return ns;
    return 0.0;
  };
  EXPECT_GT(build_ns(2), 4 * build_ns(8)) << "16 lanes, each with tasks of four partitions";
}

struct RecordedTimes {
  char const* name;
  double cpu;
  double partitioned;  ///< of a group-by: compute
  double global;
};

/// The time of the choice over that of the best recorded one.
double regret(Plan const& plan, RecordedTimes const& times) {
  bool const is_global = plan.choices.find("method=global") != std::string::npos;
  auto const compute = is_global ? times.global : times.partitioned;
  auto const best = std::min({times.cpu, times.partitioned, times.global > 0 ? times.global : times.partitioned});
  return (plan.path == Path::cpu ? times.cpu : compute) / best;
}

/// The grid `device` of bench/regret.py on an H200 beside 16 threads, median ms of the forced choices, 2026-11-21; the
/// CPU path's joins of 2^22 rows or more a side that are not dense, and of 2^24 or more, with 2^8 partitions.
TEST(CostModel, RegretOverTheTimesOfAnH200IsSmall) {
  RecordedMachine const recorded_machine("h200", "h200_host");
  auto const threads = recorded_machine.machine.measured_host->threads;
  std::vector<double> regrets;
  auto const join = [&](RecordedTimes const& times, contract::JoinShape shape) {
    shape.threads = threads;
    auto const planned = plan(shape, recorded_machine).plan;
    regrets.push_back(regret(planned, times));
    EXPECT_LE(regrets.back(), 1.5) << times.name << ": " << planned.choices;
  };
  auto const group = [&](RecordedTimes const& times, std::uint64_t rows, std::uint64_t groups) {
    auto shape = summed_groups(rows, groups);
    shape.threads = threads;
    auto const planned = plan_group_by(shape, recorded_machine.machine, {});
    ASSERT_TRUE(planned) << planned.error().describe();
    regrets.push_back(regret(planned->plan, times));
    EXPECT_LE(regrets.back(), 1.5) << times.name;
  };
  auto const uniform = [](std::uint64_t rows) {
    auto shape = dense_join(rows, rows);
    shape.left.key_range = shape.right.key_range = std::uint64_t{1} << 32;
    return shape;
  };
  join({"2^12 dense", 0.98, 2.90, 2.94}, dense_join(1 << 12, 1 << 12));
  join({"2^12 uniform", 1.10, 2.86, 2.71}, uniform(1 << 12));
  join({"2^16 dense", 2.01, 4.25, 3.49}, dense_join(1 << 16, 1 << 16));
  join({"2^16 uniform", 2.61, 4.52, 4.07}, uniform(1 << 16));
  join({"2^20 dense", 5.89, 20.5, 12.5}, dense_join(1 << 20, 1 << 20));
  join({"2^20 uniform", 7.70, 22.9, 15.4}, uniform(1 << 20));
  join({"2^22 dense", 8.69, 40.9, 27.5}, dense_join(1 << 22, 1 << 22));
  join({"2^22 uniform", 12.5, 38.4, 26.1}, uniform(1 << 22));
  join({"2^24 dense", 29.7, 262, 222}, dense_join(1 << 24, 1 << 24));
  join({"2^24 random int64", 211, 260, 241}, sparse_join(1 << 24, 1 << 24));
  join({"2^20 x 2^26 dense", 56.3, 1048, 894}, dense_join(1 << 20, 1 << 26));
  join({"2^26 dense", 584, 1524, 1259}, dense_join(1 << 26, 1 << 26));
  auto few = dense_join(1 << 22, 1 << 24);
  few.expected_matches = 0.03 * (1 << 24);
  join({"2^22 x 2^24, 3 % match", 32.9, 21.3, 14.8}, few);
  auto zipf = dense_join(1 << 20, 1 << 24);
  zipf.right.distinct = 4e5;
  join({"2^20 x 2^24 Zipf 1.0", 17.5, 217, 197}, zipf);
  auto wide = dense_join(1 << 22, 1 << 22);
  for (std::size_t c = 2; c <= 4; ++c)
    for (auto const side : {Side::left, Side::right}) wide.output.push_back({side, c, 4});
  join({"2^22 dense, 4 payloads", 14.9, 43.5, 30.1}, wide);
  group({"2^16 rows, 16 groups", 1.71, 3.36, 0}, 1 << 16, 16);
  group({"2^16 rows, 2^12 groups", 1.19, 2.95, 0}, 1 << 16, 1 << 12);
  group({"2^20 rows, 16 groups", 4.37, 6.85, 0}, 1 << 20, 16);
  group({"2^20 rows, 2^16 groups", 7.60, 8.67, 0}, 1 << 20, 1 << 16);
  group({"2^22 rows, 16 groups", 4.81, 9.64, 0}, 1 << 22, 16);
  group({"2^22 rows, 2^18 groups", 9.83, 18.2, 0}, 1 << 22, 1 << 18);
  group({"2^24 rows, 16 groups", 8.00, 17.7, 0}, 1 << 24, 16);
  group({"2^24 rows, 2^16 groups", 12.3, 20.3, 0}, 1 << 24, 1 << 16);
  group({"2^24 rows, 2^22 groups", 41.9, 197, 0}, 1 << 24, 1 << 22);
  group({"2^26 rows, 2^20 groups", 61.9, 434, 0}, 1 << 26, 1 << 20);
  std::ranges::sort(regrets);
  EXPECT_EQ(regrets[regrets.size() / 2], 1) << "the median";
  EXPECT_LE(regrets.back(), 1.15) << "the worst";
}

/// Slices were faster by `global` nearly everywhere: its pairs come in the order of probe rows.
TEST(CostModel, SlicesOfAnH200TakeTheGlobalTable) {
  RecordedMachine const recorded_machine("h200", "h200_host");
  JoinOptions options;
  options.path = Path::compute;
  for (auto const bits : {16, 20, 22, 24}) {
    auto shape = dense_join(1ULL << bits, 1ULL << bits);
    shape.threads = recorded_machine.machine.measured_host->threads;
    auto const planned = plan(shape, recorded_machine, options).plan;
    EXPECT_NE(planned.choices.find("method=global"), std::string::npos) << bits;
  }
}

TEST(CostModel, UploadFollowsTheRates) {
  JoinOptions options;
  options.path = Path::graphics;
  auto const shape = dense_join(4'194'304, 4'194'304);
  RecordedMachine h200("h200");
  EXPECT_EQ(plan(shape, h200, options).offer.tuning.upload, Upload::import) << "faster than staging there";
  EXPECT_NE(plan(dense_join(500, 500), h200, options).offer.tuning.upload, Upload::import) << "importing has a price";
  h200.device.traits.features.external_memory_host = false;
  EXPECT_EQ(plan(shape, h200, options).offer.tuning.upload, Upload::map) << "of what is left";
  options.tuning.upload = Upload::stage;
  EXPECT_EQ(plan(shape, h200, options).offer.tuning.upload, Upload::stage) << "what is asked for is kept";
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
  auto const costs = [&](contract::JoinShape const& shape, std::uint32_t bits, std::vector<std::size_t> carried = {}) {
    return contract::total_ns(
        cpu::cpu_join_costs(shape, {bits, std::move(carried), contract::kLargestChunkRows}, host));
  };
  auto const small = dense_join(1000, 1000);
  EXPECT_LT(costs(small, 0), costs(small, 8)) << "nothing to gain";
  auto const large = sparse_join(16'000'000, 16'000'000);
  EXPECT_LT(costs(large, 10), costs(large, 0)) << "tables stay in the cache";
  EXPECT_LT(costs(large, 10, {1, 2}), costs(large, 10)) << "so do carried columns";
  auto repeated = large;
  repeated.left.distinct = repeated.right.distinct = 1e6;
  EXPECT_GT(costs(repeated, 10), costs(large, 10)) << "runs are built";
  auto wide = large;
  for (auto& column : wide.output) column.bytes = 16;
  EXPECT_GT(costs(wide, 10), costs(large, 10));
}

/// Left rows alone, by dense keys: a bit a key fits a cache that tables of rows do not.
TEST(CostModel, BitmapsAreOfNarrowKeysWithoutPairs) {
  RecordedMachine const recorded_machine("consumer");
  JoinOptions options;
  options.path = Path::cpu;
  auto const is_by_bitmap = [&](contract::JoinShape shape, JoinKind kind) {
    shape.parts = contract::parts_of(kind);
    if (!shape.parts.pairs) std::erase_if(shape.output, [](auto const& column) { return column.side == Side::right; });
    return plan(shape, recorded_machine, options).offer.tuning.method == JoinMethod::bitmap;
  };
  auto const dense = dense_join(1 << 24, 1 << 24);
  EXPECT_TRUE(is_by_bitmap(dense, JoinKind::semi));
  EXPECT_FALSE(is_by_bitmap(dense, JoinKind::left));
  EXPECT_FALSE(is_by_bitmap(sparse_join(1 << 24, 1 << 24), JoinKind::semi));
  auto tested = dense;
  tested.tested_pairs = 1e6;
  tested.left.tested_columns = tested.right.tested_columns = 1;
  EXPECT_FALSE(is_by_bitmap(tested, JoinKind::semi));
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
      EXPECT_LE(chosen.plan.estimated_ns, plan(shape, recorded_machine, forced).plan.estimated_ns * (1 + 1e-9))
          << rows << " " << bits;
    }
  }
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
}  // namespace garuda::plan
