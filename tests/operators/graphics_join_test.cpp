// The graphics kernel against the oracle.
#include "operators/graphics/graphics_join.hpp"

#include <gtest/gtest.h>

#include "tests/operators/graphics_device.hpp"
#include "tests/operators/workloads.hpp"
#include "tests/reference/reference_join.hpp"

namespace garuda::operators {
namespace {

using testing::JoinCase;
using testing::KeyPattern;
using testing::Nulls;
using testing::SliceSide;

class GraphicsJoin : public testing::GraphicsDeviceTest {
 protected:
  void expect_correct(JoinCase const& join_case, JoinTuning const& tuning) {
    SCOPED_TRACE(to_string(join_case) + " " + to_string(tuning));
    auto const keys = testing::make_keys(join_case);
    auto const expected = reference::reference_join(keys.left, keys.right);
    SliceSide const left(keys.left, join_case.key_bits);
    SliceSide const right(keys.right, join_case.key_bits);
    BackendOptions options;
    options.tuning = tuning;
    options.key_bits = join_case.key_bits;
    auto backend = open_graphics_join(device(), store(), options);
    ASSERT_TRUE(backend) << backend.error().describe();
    auto kernel = (*backend)->begin({left.span(), right.span(), 0}, 0);
    ASSERT_TRUE(kernel) << kernel.error().describe();
    auto count = (*kernel)->count();
    ASSERT_TRUE(count) << count.error().describe();
    ASSERT_EQ(*count, expected.size());
    std::vector<RowPair> got(*count);
    auto done = (*kernel)->pairs(0, got);
    ASSERT_TRUE(done) << done.error().describe();
    auto pairs = testing::table_rows(got, left, right);
    std::sort(pairs.begin(), pairs.end());
    ASSERT_TRUE(pairs == expected);
    for (auto const side : {Side::left, Side::right}) {
      auto const& side_keys = side == Side::left ? keys.left : keys.right;
      auto marks = (*kernel)->mark(side);
      ASSERT_TRUE(marks) << marks.error().describe();
      ASSERT_EQ(testing::table_marks(*marks, side == Side::left ? left : right, side_keys.words.size()),
                reference::reference_mark(keys.left, keys.right, side));
    }
  }
};

TEST_F(GraphicsJoin, Smoke) {
  for (auto const address : {Address::hash, Address::direct})
    for (auto const& [storage, probe] :
         {std::pair{Storage::stack, Probe::instanced}, std::pair{Storage::stack, Probe::output},
          std::pair{Storage::stack, Probe::atomic}, std::pair{Storage::runs, Probe::output}}) {
      for (auto pattern : {KeyPattern::dense_unique, KeyPattern::all_equal, KeyPattern::zipf_both}) {
        JoinTuning tuning;
        tuning.address = address;
        tuning.storage = storage;
        tuning.probe = probe;
        expect_correct({32, 100, 50, pattern, Nulls::none, 1}, tuning);
        expect_correct({64, 100, 257, pattern, Nulls::none, 1}, tuning);
        if (HasFatalFailure()) return;
      }
    }
}

}  // namespace
}  // namespace garuda::operators
