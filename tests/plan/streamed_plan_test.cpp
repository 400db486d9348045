// When path automatic sends whole tables to a device, and what it says then.
#include "operators/placement/whole_join.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "keys/numbering/mix.hpp"
#include "operators/join/join.hpp"
#include "operators/plan/path_choice.hpp"
#include "tests/engine/fake_device.hpp"
#include "tests/plan/placed_candidates.hpp"

namespace garuda::plan {
namespace {

using testing::OneDevice;

/// Keys in no order and four payload columns of 8 bytes, twice the same table.
class PlacedJoin {
 public:
  explicit PlacedJoin(std::uint64_t rows) : keys_(rows), values_(rows, 1) {
    for (std::uint64_t row = 0; row < rows; ++row) keys_[row] = static_cast<std::int32_t>(keys::mix(row));
    for (auto& column : columns_) {
      column.length = static_cast<std::int64_t>(rows);
      column.null_count = 0;
      column.values = values_.data();
    }
    columns_[0].values = keys_.data();
  }
  PlacedJoin(PlacedJoin const&) = delete;

  resolve::JoinRequest request(contract::DeviceSet& devices, JoinOptions const& options,
                               std::vector<std::string> const& keys = {"key"}) const {
    TableView const table(schema_, std::span(&batch_, 1));
    JoinSpec spec;
    for (auto const& key : keys) spec.on.emplace_back(key, key);
    auto columns = resolve::resolve_join(schema_, schema_, spec);
    EXPECT_TRUE(columns) << columns.error().describe();
    return resolve::JoinRequest{table, table, spec, std::move(*columns), options, &devices};
  }

 private:
  std::vector<std::int32_t> keys_;
  std::vector<std::int64_t> values_;
  std::array<ArrayView, 5> columns_;
  BatchView batch_{static_cast<std::int64_t>(keys_.size()), columns_};
  Schema schema_{Field{"key", DataType{TypeId::int32}, false}, Field{"a", DataType{TypeId::int64}, false},
                 Field{"b", DataType{TypeId::int64}, false}, Field{"c", DataType{TypeId::int64}, false},
                 Field{"d", DataType{TypeId::int64}, false}};
};

Plan explained(PlacedJoin const& join, contract::DeviceSet& devices, JoinOptions const& options = {}) {
  auto plan = join::explain_hash_join(join.request(devices, options), false);
  EXPECT_TRUE(plan) << plan.error().describe();
  return plan.value_or(Plan{});
}

TEST(StreamedPlan, IsOneOfTheCandidatesOfPathAutomatic) {
  OneDevice gpu(vk::DeviceType::discrete);
  for (std::uint64_t const rows : {std::uint64_t{1} << 10, std::uint64_t{1} << 21}) {
    PlacedJoin const join(rows);
    auto const plan = explained(join, gpu, two_threads<JoinOptions>());
    EXPECT_EQ(std::ranges::count_if(plan.candidates, is_placed), 1);
    EXPECT_EQ(is_placed(plan), rows > 100'000) << to_string(plan);
    EXPECT_EQ(plan.path, rows > 100'000 ? Path::compute : Path::cpu);
    EXPECT_EQ(plan.estimated_ns, std::ranges::min(plan.candidates, {}, &Candidate::estimated_ns).estimated_ns);
    EXPECT_GT(plan.candidates.size(), 3U) << "beside the others";
  }
}

TEST(StreamedPlan, IsNotTakenWhereItMayNotBe) {
  PlacedJoin const join(std::uint64_t{1} << 21);
  for (auto const type : {vk::DeviceType::cpu, vk::DeviceType::integrated, vk::DeviceType::discrete}) {
    OneDevice device(type);
    auto options = two_threads<JoinOptions>();
    if (type == vk::DeviceType::discrete) options.tuning.placement = Placement::slices;
    EXPECT_EQ(std::ranges::count_if(explained(join, device, options).candidates, is_placed), 0) << to_string(type);
  }
  OneDevice gpu(vk::DeviceType::discrete);
  auto options = two_threads<JoinOptions>();
  options.path = Path::cpu;
  EXPECT_EQ(explained(join, gpu, options).path, Path::cpu);
  auto const machine = machine_of(gpu, 2);
  auto const host = machine.host(2);
  auto const request = join.request(gpu, two_threads<JoinOptions>());
  auto const offered_ns = [&](double matches) {
    contract::JoinShape shape;
    shape.expected_matches = matches;
    shape.output.resize(1);
    shape.threads = 2;
    shape.tables = &request;
    auto const whole = placement::offer_whole_join({{machine, host, 0, std::nullopt}, shape, request.options});
    EXPECT_TRUE(whole && whole->front().takes_whole()) << (whole ? "in slices" : whole.error().describe());
    return whole ? whole->front().candidate.estimated_ns : 0;
  };
  EXPECT_GT(offered_ns(1e8), offered_ns(1e6)) << "rows that multiply come down";
}

/// Every strategy for several key columns is listed with its price; path compute takes the cheapest.
TEST(StreamedPlan, KeysOfSeveralColumnsGoThereWhole) {
  OneDevice gpu(vk::DeviceType::discrete);
  PlacedJoin const join(std::uint64_t{1} << 21);
  for (auto const& keys : {std::vector<std::string>{"key", "a"}, {"a", "b", "key"}}) {
    auto options = two_threads<JoinOptions>();
    auto const open = join::explain_hash_join(join.request(gpu, options, keys), false);
    ASSERT_TRUE(open) << open.error().describe();
    EXPECT_GE(std::ranges::count_if(open->candidates, is_placed), 2) << to_string(*open);
    EXPECT_GT(open->candidates.size(), 5U) << "beside the others";
    options.path = Path::compute;
    auto const whole = join::explain_hash_join(join.request(gpu, options, keys), false);
    ASSERT_TRUE(whole) << whole.error().describe();
    EXPECT_TRUE(is_placed(*whole)) << to_string(*whole);
    auto const detail = std::ranges::find(whole->details, "composed keys", &std::pair<std::string, std::string>::first);
    ASSERT_NE(detail, whole->details.end()) << to_string(*whole);
    EXPECT_EQ(detail->second, std::to_string(keys.size()) + " columns packed in 64 bits on the device");
  }
}

}  // namespace
}  // namespace garuda::plan
