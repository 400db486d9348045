// The cheapest candidate that explain lists runs, with the same numbers: on random tables, rates and options.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "keys/samples/key_sample.hpp"
#include "operators/group_by/group_by.hpp"
#include "operators/join/join.hpp"
#include "tests/graphics/graphics_device.hpp"
#include "tests/unwrap.hpp"
#include "tests/workloads/as_gpu.hpp"

namespace garuda::join {
namespace {

using testing::value_of;

/// Multiplied by up to a factor of so much either way.
constexpr double kMostChange = 300;

class RandomRates {
 public:
  explicit RandomRates(std::uint64_t seed) : random_(seed) {}

  rates::HostRates host() {
    auto rates = rates::default_host_rates(2);
    auto const all = change();
    for (auto const& field : rates::host_curve_fields())
      for (auto& point : (rates.*field.curve).points) point.per_s *= all;
    rates.encoded_keys_per_s *= change();
    return rates;
  }
  rates::DeviceRates device() {
    auto rates = rates::default_device_rates(vk::DeviceType::discrete);
    for (auto const& field : rates::device_rate_fields()) rates.*field.value *= change();
    return rates;
  }
  std::uint64_t below(std::uint64_t end) { return random_() % end; }

 private:
  double change() {
    std::uniform_real_distribution<double> exponent(-1, 1);
    return std::pow(kMostChange, exponent(random_));
  }

  std::mt19937_64 random_;
};

/// Keys and one payload column.
class RandomTable {
 public:
  RandomTable(RandomRates& random, std::uint64_t rows, std::uint64_t distinct) : keys_(rows), values_(rows) {
    auto const step = 1 + random.below(2) * 999'983;
    for (std::uint64_t row = 0; row < rows; ++row) {
      keys_[row] = static_cast<std::int64_t>(random.below(distinct) * step);
      values_[row] = static_cast<std::int32_t>(row);
    }
    for (auto& column : columns_) {
      column.length = static_cast<std::int64_t>(rows);
      column.null_count = 0;
    }
    columns_[0].values = keys_.data();
    columns_[1].values = values_.data();
  }
  RandomTable(RandomTable const&) = delete;

  TableView view() const { return TableView(schema_, std::span(&batch_, 1)); }

 private:
  std::vector<std::int64_t> keys_;
  std::vector<std::int32_t> values_;
  std::array<ArrayView, 2> columns_;
  BatchView batch_{static_cast<std::int64_t>(keys_.size()), columns_};
  Schema schema_{Field{"key", DataType{TypeId::int64}, false}, Field{"x", DataType{TypeId::int32}, false}};
};

template <class Options>
Options random_options(RandomRates& random) {
  Options options;
  options.threads = 2;
  // Else candidates follow what memory is free.
  options.memory_limit_bytes = std::uint64_t{1} << 30;
  options.path = std::array{Path::automatic, Path::automatic, Path::compute, Path::cpu}[random.below(4)];
  if (random.below(4) == 0) options.tuning.placement = Placement::slices;
  return options;
}

std::vector<std::string> listed(Plan const& plan) {
  std::vector<std::string> lines;
  for (auto const& candidate : plan.candidates)
    lines.push_back(std::string(to_string(candidate.path)) + " " + candidate.choices + " " +
                    std::to_string(candidate.estimated_ns));
  return lines;
}

void expect_the_cheapest(Plan const& explained, Plan const& run, Path asked, std::uint64_t seed) {
  EXPECT_EQ(listed(explained), listed(run)) << "seed " << seed;
  EXPECT_EQ(explained.path, run.path) << "seed " << seed;
  EXPECT_EQ(explained.tuning, run.tuning) << "seed " << seed;
  EXPECT_EQ(explained.phases_ns, run.phases_ns) << "seed " << seed;
  auto const least = std::ranges::find_if(run.candidates, [&](Candidate const& candidate) {
    return candidate.estimated_ns > 0 && (asked == Path::automatic || candidate.path == asked);
  });
  ASSERT_NE(least, run.candidates.end()) << "seed " << seed;
  EXPECT_EQ(run.estimated_ns, least->estimated_ns) << "seed " << seed << "\n" << to_string(run);
  EXPECT_EQ(run.choices, least->choices) << "seed " << seed;
  EXPECT_TRUE(std::ranges::is_sorted(
      run.candidates, {},
      [](Candidate const& candidate) { return std::pair(candidate.estimated_ns == 0, candidate.estimated_ns); }))
      << "seed " << seed;
}

class PlannedRuns : public testing::GraphicsDeviceTest {};

TEST_F(PlannedRuns, JoinsAreTheCheapestThatIsListed) {
  std::vector<bool> seen(2);
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    RandomRates random(seed);
    testing::AsGpu gpu(device(), store(), random.host(), random.device());
    auto const rows = 100 + random.below(30'000);
    RandomTable const left(random, rows, 1 + random.below(2 * rows));
    RandomTable const right(random, 1 + random.below(2 * rows), rows);
    auto const options = random_options<JoinOptions>(random);
    JoinSpec spec;
    spec.on = {{"key", "key"}};
    auto const columns = value_of(resolve::resolve_join(left.view().schema(), right.view().schema(), spec));
    resolve::JoinRequest const request{left.view(), right.view(), spec, columns, options, &gpu};
    auto const explained = value_of(explain_hash_join(request, false));
    auto const result = value_of(hash_join(request));
    expect_the_cheapest(explained, result->plan(), options.path, seed);
    seen[result->plan().tuning.find("placement=device") != std::string::npos] = true;
  }
  EXPECT_TRUE(seen[0] && seen[1]) << "tables whole and in slices";
}

TEST_F(PlannedRuns, GroupBysAreTheCheapestThatIsListed) {
  std::vector<bool> seen(2);
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    RandomRates random(seed);
    testing::AsGpu gpu(device(), store(), random.host(), random.device());
    auto const rows = random.below(2) == 0 ? 100 + random.below(20'000) : keys::kSampledRows * 5 / 4;
    RandomTable const table(random, rows, 1 + random.below(rows));
    auto const options = random_options<GroupByOptions>(random);
    GroupBySpec const spec{{"key"}, value_of(parse_aggregates("sum:x,count")), false};
    resolve::GroupByRequest const request{table.view(), spec, value_of(resolve::resolve_group_by(table.view(), spec)),
                                          options, &gpu};
    auto const explained = value_of(group_by::explain_group_by(request));
    auto const result = value_of(group_by::group_by(request));
    expect_the_cheapest(explained, result->plan(), options.path, seed);
    seen[result->plan().tuning.find("placement=device") != std::string::npos] = true;
  }
  EXPECT_TRUE(seen[0] && seen[1]) << "tables whole and in slices";
}

}  // namespace
}  // namespace garuda::join
