// Peak memory of a join in memory: at most inputs, outputs and 1.5 times what it partitions, as the operating system
// counts it and as the plan says. A process of its own, because memory that other suites leave behind would count.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "garuda/engine.hpp"
#include "tests/workloads/tables.hpp"

namespace garuda {
namespace {

using testing::TestColumn;
using testing::TestTable;
using testing::type_of;

constexpr std::uint64_t kRows = std::uint64_t{1} << 22;
/// Threads' stacks, libraries' tables, pages that are touched in part: does not grow with the tables.
constexpr std::uint64_t kFixedBytes = std::uint64_t{12} << 20;

/// A number of /proc/self/status, in bytes; 0 where there is none.
std::uint64_t status_bytes(std::string const& name) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    std::uint64_t kib = 0;
    if (word == name + ":" && status >> kib) return kib * 1024;
  }
  return 0;
}

/// Lets VmHWM start again from what is resident now.
bool reset_peak() {
  std::ofstream file("/proc/self/clear_refs");
  return static_cast<bool>(file << "5" << std::flush);
}

/// Each of the keys 0 … kRows - 1, times `stride`, once, in scattered order; payload columns of int32.
template <class Key>
Table scattered(TypeId type, std::uint64_t step, std::uint64_t stride, int payloads) {
  TestColumn<Key> keys{"k", type_of(type), {}, {}};
  keys.values.reserve(kRows);
  for (std::uint64_t i = 0; i < kRows; ++i) keys.values.push_back(static_cast<Key>(i * step % kRows * stride));
  TestTable table;
  table.add(std::move(keys));
  for (int p = 0; p < payloads; ++p) {
    TestColumn<std::int32_t> payload{std::string("p").append(std::to_string(p)), type_of(TypeId::int32), {}, {}};
    for (std::uint64_t i = 0; i < kRows; ++i) payload.values.push_back(static_cast<std::int32_t>(i));
    table.add(std::move(payload));
  }
  return table.build();
}

struct MemoryCase {
  char const* name;
  TypeId type;
  int payloads;
  Payload payload;
};

class JoinMemory : public ::testing::TestWithParam<MemoryCase> {};

TEST_P(JoinMemory, StaysWithinOneAndAHalfTimesWhatIsPartitioned) {
  auto const& param = GetParam();
  auto const wide = param.type == TypeId::int64;
  auto const make = [&](std::uint64_t step) {
    return wide ? scattered<std::int64_t>(param.type, step, 0x1000'0000'01, param.payloads)
                : scattered<std::int32_t>(param.type, step, 1, param.payloads);
  };
  auto const left = make(1'103'515'245);
  auto const right = make(22'695'477);
  auto engine = Engine::create({.vulkan = false});
  ASSERT_TRUE(engine);
  JoinSpec spec;
  spec.on = {{"k", "k"}};
  JoinOptions options;
  options.path = Path::cpu;
  options.threads = 2;
  options.tuning.payload = param.payload;
  if (!reset_peak()) GTEST_SKIP() << "/proc/self/clear_refs cannot be written";
  auto const before = status_bytes("VmRSS");
  auto result = engine->join(left.view(), right.view(), spec, options);
  ASSERT_TRUE(result) << result.error().describe();
  auto const joined = collect(**result);
  ASSERT_TRUE(joined) << joined.error().describe();
  auto const peak = status_bytes("VmHWM") - before;
  ASSERT_EQ(joined->num_rows(), static_cast<std::int64_t>(kRows));
  std::uint64_t carried = 0;
  for (auto const& [name, value] : (*result)->stats().counters)
    if (name == "columns_carried") carried = value;
  auto const key_bytes = wide ? 8U : 4U;
  auto const output_bytes = kRows * (key_bytes + 4 * 2 * static_cast<std::uint64_t>(param.payloads));
  auto const partitioned_bytes = 2 * kRows * (key_bytes + 4) + kRows * 4 * carried;
  auto const text = [](std::uint64_t bytes) { return std::to_string(bytes >> 20).append(" MiB"); };
  RecordProperty("peak_bytes", std::to_string(peak));
  RecordProperty("partitioned_bytes", std::to_string(partitioned_bytes));
  RecordProperty("output_bytes", std::to_string(output_bytes));
  auto const planned = (*result)->plan().host_bytes;
  EXPECT_LE(peak, output_bytes + partitioned_bytes / 2 * 3 + kFixedBytes)
      << "peak " << text(peak) << ", output " << text(output_bytes) << ", partitioned " << text(partitioned_bytes);
  // What the plan counts is what is taken beside the batches that the caller keeps.
  EXPECT_LE(peak, planned + output_bytes + kFixedBytes) << "planned " << text(planned) << ", peak " << text(peak);
}

INSTANTIATE_TEST_SUITE_P(Joins, JoinMemory,
                         ::testing::Values(MemoryCase{"dense", TypeId::int32, 1, Payload::automatic},
                                           MemoryCase{"sparse", TypeId::int64, 1, Payload::automatic},
                                           MemoryCase{"carried", TypeId::int32, 4, Payload::carry},
                                           MemoryCase{"gathered", TypeId::int32, 4, Payload::gather}),
                         [](auto const& case_info) { return std::string(case_info.param.name); });

}  // namespace
}  // namespace garuda
