// Group-bys of path automatic beside a device that may take the whole table: the same groups whichever way is chosen,
// and what of the keys was looked at before.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "keys/numbering/mix.hpp"
#include "keys/samples/key_sample.hpp"
#include "operators/group_by/group_by.hpp"
#include "tests/graphics/graphics_device.hpp"
#include "tests/reference/reference_join.hpp"
#include "tests/unwrap.hpp"
#include "tests/workloads/as_gpu.hpp"

namespace garuda::plan {
namespace {

/// Divides every rate of the host; what a group-by of no rows takes stays.
rates::HostRates slower(rates::HostRates rates, double factor) {
  for (auto const& field : rates::host_curve_fields())
    for (auto& point : (rates.*field.curve).points) point.per_s /= factor;
  return rates;
}

/// Rates of a GPU whose slices take long, by draws and by atomics.
rates::DeviceRates without_slices() {
  auto rates = rates::default_device_rates(vk::DeviceType::discrete);
  rates.atomics_per_s = rates.random_points_per_s = 1e4;
  return rates;
}

/// Rows that a sample leaves some of out, in one batch: int64 keys, int32 values.
class SampledTable {
 public:
  /// Keys are multiples of `gap`.
  SampledTable(std::uint64_t groups, std::uint64_t gap) : keys_(kRows), values_(kRows) {
    for (std::uint64_t row = 0; row < kRows; ++row) {
      keys_[row] = static_cast<std::int64_t>(keys::mix(row) % groups * gap);
      values_[row] = static_cast<std::int32_t>(row);
    }
    for (auto& column : columns_) {
      column.length = static_cast<std::int64_t>(kRows);
      column.null_count = 0;
    }
    columns_[0].values = keys_.data();
    columns_[1].values = values_.data();
  }
  SampledTable(SampledTable const&) = delete;

  void set_key(std::uint64_t row, std::int64_t key) { keys_[row] = key; }

  resolve::GroupByRequest request(contract::DeviceSet& devices, GroupByOptions options = {}) const {
    options.threads = 2;
    TableView const table(schema_, std::span(&batch_, 1));
    GroupBySpec const spec{{"key"}, *parse_aggregates("sum:x,count"), false};
    return {table, spec, testing::value_of(resolve::resolve_group_by(table, spec)), options, &devices};
  }

 private:
  static constexpr std::uint64_t kRows = keys::kSampledRows + keys::kSampledRows / 8;

  std::vector<std::int64_t> keys_;
  std::vector<std::int32_t> values_;
  std::array<ArrayView, 2> columns_;
  BatchView batch_{static_cast<std::int64_t>(kRows), columns_};
  Schema schema_{Field{"key", DataType{TypeId::int64}, false}, Field{"x", DataType{TypeId::int32}, false}};
};

struct Grouped {
  Plan plan;
  Plan explained;
  reference::TextTable groups;
};

Grouped group(resolve::GroupByRequest const& request) {
  auto explained = testing::value_of(group_by::explain_group_by(request));
  auto const result = testing::value_of(group_by::group_by(request));
  auto const table = testing::value_of(collect(*result));
  return {result->plan(), std::move(explained), reference::sorted(reference::read_table(table.view()))};
}

bool has_phase(Plan const& plan, std::string const& name) {
  return std::ranges::any_of(plan.phases_ns, [&](auto const& phase) { return phase.first == name; });
}

class StreamedGroupChoice : public testing::GraphicsDeviceTest {
 protected:
  static testing::AsGpu beside(rates::HostRates const& host) { return {device(), store(), host, without_slices()}; }

  static reference::TextTable on_cpu(SampledTable const& table, contract::DeviceSet& devices) {
    GroupByOptions options;
    options.path = Path::cpu;
    return group(table.request(devices, options)).groups;
  }
};

TEST_F(StreamedGroupChoice, GivesTheSameGroupsWhicheverWay) {
  SampledTable const table(20'000, 1'000'003);
  auto const rates = rates::default_host_rates(2);
  for (bool const is_slow : {false, true}) {
    auto gpu = beside(is_slow ? slower(rates, 1000) : rates);
    auto const grouped = group(table.request(gpu));
    EXPECT_EQ(grouped.plan.path, is_slow ? Path::compute : Path::cpu);
    EXPECT_EQ(grouped.explained.path, grouped.plan.path);
    if (is_slow) {
      EXPECT_FALSE(has_phase(grouped.plan, "encode")) << "a sample of the keys was enough";
      EXPECT_FALSE(has_phase(grouped.explained, "encode"));
    }
    EXPECT_EQ(grouped.groups.rows, on_cpu(table, gpu).rows);
  }
}

/// A key that the sample leaves out widens the range, so that groups cannot be addressed directly after all.
TEST_F(StreamedGroupChoice, IsMadeAgainWhenKeysAreEncoded) {
  auto const fast = rates::default_host_rates(2);
  auto host = slower(fast, 1000);
  host.direct_rows = fast.direct_rows;
  host.direct_groups = fast.direct_groups;
  host.aggregated_rows = fast.aggregated_rows;
  auto gpu = beside(host);
  SampledTable table(16, 1);
  EXPECT_EQ(group(table.request(gpu)).plan.path, Path::cpu);
  table.set_key(33, std::int64_t{1} << 50);
  auto const grouped = group(table.request(gpu));
  EXPECT_EQ(grouped.plan.path, Path::compute);
  EXPECT_TRUE(has_phase(grouped.plan, "encode"));
  EXPECT_TRUE(has_phase(grouped.explained, "encode"));
  EXPECT_EQ(grouped.groups.rows, on_cpu(table, gpu).rows);
}

TEST_F(StreamedGroupChoice, StopsAndKeepsLimits) {
  SampledTable const table(20'000, 1'000'003);
  auto gpu = beside(slower(rates::default_host_rates(2), 1000));
  std::atomic<bool> const cancelled{true};
  GroupByOptions stopped;
  stopped.control.cancelled = &cancelled;
  auto const result = group_by::group_by(table.request(gpu, stopped));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::cancelled);
  GroupByOptions limited;
  limited.device_memory_limit_bytes = 1'000'000;
  auto const grouped = group(table.request(gpu, limited));
  EXPECT_EQ(grouped.plan.path, Path::cpu) << "the table does not fit";
  EXPECT_EQ(grouped.groups.rows, on_cpu(table, gpu).rows);
  limited.device_memory_limit_bytes = 0;
  limited.memory_limit_bytes = std::uint64_t{32} << 20;
  EXPECT_EQ(group(table.request(gpu, limited)).groups.rows, on_cpu(table, gpu).rows);
}

}  // namespace
}  // namespace garuda::plan
