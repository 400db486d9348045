// A path that is one folder and one row: listed, priced, chosen, run and explained like those of the library.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "garuda/engine.hpp"
#include "operators/contract/offers/path_row.hpp"
#include "operators/plan/path_choice.hpp"
#include "tests/plan/test_path/test_path.hpp"
#include "tests/reference/reference_join.hpp"
#include "tests/unwrap.hpp"
#include "tests/workloads/tables.hpp"

namespace garuda {
namespace {

using testing::kNestedLoops;
using testing::value_of;

class AddedPath : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (plan::find_path(kNestedLoops) == nullptr) plan::add_path(testing::kNestedLoopsPath);
  }
  void TearDown() override { testing::nested_loops_pair_ns = 1; }

  static Table table(std::int32_t rows, std::int32_t step) {
    testing::TestColumn<std::int32_t> keys{"k", testing::type_of(TypeId::int32), {}, {}};
    for (std::int32_t row = 0; row < rows; ++row) keys.values.push_back(row / 2 * step);
    auto payload = keys;
    payload.name = step == 1 ? "a" : "b";
    return testing::TestTable().add(std::move(keys)).add(std::move(payload)).build(64);
  }

  static JoinSpec on_keys() {
    JoinSpec spec;
    spec.on = {{"k", "k"}};
    return spec;
  }

  Engine engine_ = value_of(Engine::create({.vulkan = false, .cuda = false, .calibration_folder = ""}));
  Table left_ = table(300, 1);
  Table right_ = table(200, 3);
};

TEST_F(AddedPath, IsListedPricedAndExplained) {
  testing::nested_loops_pair_ns = 1e6;
  auto const plan = value_of(engine_.explain_join(left_.view(), right_.view(), on_keys()));
  EXPECT_EQ(plan.path, Path::cpu) << "which is cheaper";
  auto const mine = std::ranges::find(plan.candidates, kNestedLoops, &Candidate::path);
  ASSERT_NE(mine, plan.candidates.end());
  EXPECT_EQ(mine->estimated_ns, 1 + 300.0 * 200 * 1e6);
  EXPECT_NE(to_string(plan).find("nested-loops"), std::string::npos);
  EXPECT_NE(to_json(plan).find("\"path\":\"nested-loops\""), std::string::npos);
  EXPECT_EQ(value_of(parse_path("nested-loops")), kNestedLoops);
}

TEST_F(AddedPath, IsChosenWhereItIsCheapestAndRuns) {
  auto const expected = reference::sorted(reference::reference_join_table(left_.view(), right_.view(), on_keys()));
  for (bool const is_named : {false, true}) {
    testing::nested_loops_pair_ns = is_named ? 1e9 : 1e-9;
    JoinOptions options;
    if (is_named) options.path = kNestedLoops;
    auto const result = value_of(engine_.join(left_.view(), right_.view(), on_keys(), options));
    auto const joined = value_of(collect(*result));
    EXPECT_EQ(result->plan().path, kNestedLoops);
    EXPECT_EQ(result->stats().path, kNestedLoops);
    EXPECT_EQ(reference::sorted(reference::read_table(joined.view())), expected);
    auto const counted = value_of(engine_.join_count(left_.view(), right_.view(), on_keys(), options));
    EXPECT_EQ(counted.rows, expected.rows.size());
    auto ordered = on_keys();
    ordered.ordered = true;
    auto const in_order = value_of(engine_.join(left_.view(), right_.view(), ordered, options));
    EXPECT_EQ(reference::read_table(value_of(collect(*in_order)).view()),
              reference::reference_join_table(left_.view(), right_.view(), ordered));
  }
}

TEST_F(AddedPath, OffersNothingForGroupBys) {
  GroupBySpec spec;
  spec.keys = {"k"};
  auto const plan = value_of(engine_.explain_group_by(left_.view(), spec));
  EXPECT_EQ(std::ranges::count(plan.candidates, kNestedLoops, &Candidate::path), 0);
  GroupByOptions options;
  options.path = kNestedLoops;
  auto const refused = engine_.explain_group_by(left_.view(), spec, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::no_device);
}

TEST_F(AddedPath, HasAValueAndANameOfItsOwn) { EXPECT_THROW(plan::add_path(testing::kNestedLoopsPath), LogicError); }

int num_searches = 0;

/// A search that failed once need not fail again: a run that names the path looks for its devices anew, others do not.
TEST_F(AddedPath, DevicesThatWereNotFoundAreLookedForAgain) {
  static contract::PathRow const kWithoutDevices{
      .path = static_cast<Path>(static_cast<int>(kNestedLoops) + 1),
      .name = "without-devices",
      .api = DeviceApi::cuda,
      .asks_permission = true,
      .find_devices = [](EngineOptions const&) -> Result<std::unique_ptr<contract::ApiDevices>> {
        ++num_searches;
        return fail(ErrorCode::no_device, "none yet");
      },
      .join = testing::kNestedLoopsPath.join};
  plan::add_path(kWithoutDevices);
  JoinOptions options;
  options.path = kWithoutDevices.path;
  for (int const searches : {1, 2}) {
    auto const refused = engine_.explain_join(left_.view(), right_.view(), on_keys(), options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::no_device);
    EXPECT_EQ(num_searches, searches);
  }
  (void)value_of(engine_.explain_join(left_.view(), right_.view(), on_keys()));
  EXPECT_EQ(num_searches, 2);
}

}  // namespace
}  // namespace garuda
