// Conditions of joins of tables on a device beyond columns of one type and 64 bits, tested where the tables live:
// results equal the oracle's. A random case is a function of its seed, which a failure names.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "garuda/engine.hpp"
#include "tests/device/mixed_device_tables.hpp"
#include "tests/test_run.hpp"
#include "tests/workloads/mixed_keys.hpp"
#include "tests/workloads/mixed_tables.hpp"

namespace garuda {
namespace {

using testing::kKinds;
using testing::MixedTable;
using Random = std::mt19937_64;

class DeviceConditions : public testing::MixedDeviceTables {
 protected:
  static JoinSpec where(std::string const& condition, JoinKind kind, std::string const& key = "k") {
    JoinSpec spec;
    spec.on = {{key, key}};
    spec.kind = kind;
    spec.where = parse_condition(condition).value();
    spec.columns = std::vector<ColumnRef>{{Side::left, "n"}};
    if (kind <= JoinKind::full) spec.columns->push_back({Side::right, "n"});
    return spec;
  }
};

TEST_F(DeviceConditions, OfStringsAndOfTwoTypes) {
  auto const left = testing::pick(MixedTable{70, 30, 6, 1}.build(21), testing::columns_there_and_n());
  auto const right = testing::pick(MixedTable{60, 0, 6, 1}.build(22), testing::columns_there_and_n());
  auto const left_there = upload(left);
  auto const right_there = upload(right);
  std::uint64_t cases = 0;
  for (auto const* const condition :
       {"left.text = right.view", "left.word <> 'ab'", "left.text = 'ab' or right.large = left.view or right.text = ''",
        "left.bytes <> right.bytes", "left.fixed = right.fixed", "left.f16 < right.f64", "left.f16 >= 1.5",
        "left.f32 <= right.f16 and right.f32 > left.i8", "left.i32 < right.f64", "left.u32 <> right.f64",
        "left.second <= right.micro", "left.zoned > right.utc", "left.day < right.day64", "left.time32 = right.time64",
        "left.d9 > right.d18", "left.i8 < right.d9 and left.i8 > -3", "left.u32 >= right.d18", "left.d9 < 2.5",
        "not (left.text = right.text or left.second < '1970-01-01T00:00:01.5')"}) {
    auto const spec = where(condition, kKinds[cases++ % kKinds.size()]);
    if (testing::takes_compiled_case(cases)) expect_rows(left, right, left_there, right_there, spec, "");
  }
}

/// As Parquet files have them: of 128 bits that 64 hold.
TEST_F(DeviceConditions, OfWideDecimalsThatFit) {
  auto const left =
      testing::mixed_table<reference::Decimal128>(testing::decimal_of(TypeId::decimal128, 30), 90, 1, true);
  auto const right = testing::mixed_table<std::int64_t>(testing::decimal_of(TypeId::decimal64, 12), 80, 2, true);
  auto const left_there = upload(left);
  auto const right_there = upload(right);
  for (auto const* const condition : {"left.k < right.k", "left.k <> 0.05", "left.k >= right.plain"}) {
    auto spec = where("left.plain <= right.plain", JoinKind::full, "k");
    spec.on = {{"plain", "plain"}};
    spec.where = parse_condition(condition).value();
    spec.columns = std::vector<ColumnRef>{{Side::left, "plain"}, {Side::right, "k"}};
    bool const is_there = std::string(condition).find("plain") == std::string::npos;
    expect_rows(left, right, left_there, right_there, spec, "", is_there);
  }
}

/// Order of strings, and values beyond 64 bits, are the host's.
TEST_F(DeviceConditions, OthersAreThoseOfCopies) {
  auto const left = testing::pick(MixedTable{40, 30, 6, 1}.build(23), testing::columns_there_and_n());
  auto const right = testing::pick(MixedTable{50, 0, 6, 1}.build(24), testing::columns_there_and_n());
  auto const left_there = upload(left);
  auto const right_there = upload(right);
  for (auto const* const condition : {"left.text < right.view", "left.d38 <= right.d38", "left.d76 = right.d76"}) {
    auto const spec = where(condition, JoinKind::left);
    expect_rows(left, right, left_there, right_there, spec, "", false);
    auto const refused = engine().join(left_there.view(), right_there.view(), spec, tuned("placement=device"));
    ASSERT_FALSE(refused) << condition;
    EXPECT_EQ(refused.error().code(), ErrorCode::invalid_input);
  }
}

TEST_F(DeviceConditions, RandomOnesEqualTheOracle) {
  auto const cases = testing::is_bounded() ? 12 : testing::random_cases(Path::compute, 0, 60);
  auto const first = testing::first_seed(13'000);
  for (auto seed = first; seed < first + cases && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    auto left = testing::random_mixed_table(random);
    auto right = testing::random_mixed_table(random);
    auto spec = where("left.n = 1", kKinds[random() % kKinds.size()]);
    spec.where = testing::mixed_condition(left.schema(), 1 + random() % 3, random());
    if (to_string(*spec.where).find("coded") != std::string::npos) continue;  // a dictionary that stays on the host
    spec.nulls_equal = random() % 3 == 0;
    spec.ordered = random() % 3 == 0;
    left = testing::pick(left, testing::columns_there_and_n());
    right = testing::pick(right, testing::columns_there_and_n());
    expect_rows(left, right, upload(left), upload(right), spec, "", false);
  }
}

}  // namespace
}  // namespace garuda
