#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "garuda/group_states.hpp"
#include "operators/resolve/exact_state.hpp"

namespace garuda::resolve {
namespace {

/// A column of states, in two batches whose second starts at an offset.
class States {
 public:
  explicit States(std::vector<std::int64_t> const& sums, TypeId type = TypeId::large_binary)
      : schema_{{"s", DataType{type}, false}} {
    for (auto const sum : sums) {
      ExactState state;
      state.count = 1;
      auto const magnitude = BigInteger(static_cast<std::uint64_t>(sum < 0 ? -sum : sum));
      state[StateSum::x] = sum < 0 ? -magnitude : magnitude;
      append_exact_state(state, bytes_);
      offsets_.push_back(static_cast<std::int64_t>(bytes_.size()));
    }
    auto const rows = static_cast<std::int64_t>(sums.size());
    for (std::size_t b = 0; b < 2; ++b) {
      auto& column = columns_[b];
      column.offset = b == 0 ? 0 : rows / 2;
      column.length = b == 0 ? rows / 2 : rows - rows / 2;
      column.offsets = offsets_.data();
      column.values = bytes_.data();
      batches_[b] = {column.length, std::span(&column, 1)};
    }
  }
  States(States const&) = delete;
  States& operator=(States const&) = delete;

  TableView view() const { return {schema_, batches_}; }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  Schema schema_;
  std::vector<std::byte> bytes_;
  std::vector<std::int64_t> offsets_{0};
  std::array<ArrayView, 2> columns_{};
  std::array<BatchView, 2> batches_{};
};

Aggregate sum_of_x() { return {AggregateFunction::sum, "x", "total"}; }
Schema const kRows{{"x", DataType{TypeId::int64}, true}};

TEST(StateColumns, MergeAndBecomeValues) {
  States const states({1, 20, 300, -4'000, 50'000});
  std::vector<std::uint64_t> const groups{1, 0, 1, 1, 0};
  auto const merged = merge_states(states.view(), groups, 2);
  ASSERT_TRUE(merged) << merged.error().message();
  auto const values = values_of_states(merged->view(), kRows, {sum_of_x()});
  ASSERT_TRUE(values) << values.error().message();
  ASSERT_EQ(values->schema()[0].name, "total");
  ASSERT_EQ(values->num_rows(), 2);
  auto const* const totals = values->batches()[0].columns[0].data<std::int64_t>();
  EXPECT_EQ(totals[0], 50'020);
  EXPECT_EQ(totals[1], -3'699);
}

TEST(StateColumns, SayWhatIsWrong) {
  States states({1, 2});
  auto const code = [](auto const& result) { return result.error().code(); };
  EXPECT_EQ(code(merge_states(states.view(), std::vector<std::uint64_t>{0, 2}, 2)), ErrorCode::usage);
  EXPECT_EQ(code(merge_states(states.view(), std::vector<std::uint64_t>{0}, 1)), ErrorCode::usage);
  EXPECT_EQ(code(merge_states(states.view(), std::vector<std::uint64_t>{0, 0}, 2)), ErrorCode::usage);
  EXPECT_EQ(code(values_of_states(states.view(), kRows, {})), ErrorCode::usage);
  EXPECT_EQ(code(values_of_states(states.view(), kRows, {{AggregateFunction::min, "x", std::nullopt}})),
            ErrorCode::usage);
  EXPECT_EQ(code(values_of_states(States({1}, TypeId::int64).view(), kRows, {sum_of_x()})), ErrorCode::usage);
  std::atomic<bool> const stop{true};
  EXPECT_EQ(
      code(merge_states(states.view(), std::vector<std::uint64_t>{0, 0}, 1, {.cancelled = &stop, .on_progress = {}})),
      ErrorCode::cancelled);
  states.bytes()[0] = std::byte{99};
  EXPECT_EQ(code(merge_states(states.view(), std::vector<std::uint64_t>{0, 0}, 1)), ErrorCode::invalid_input);
}

TEST(StateColumns, ASumBeyondItsTypeIsAnError) {
  States const states({std::int64_t{1} << 62, std::int64_t{1} << 62});
  auto const merged = merge_states(states.view(), std::vector<std::uint64_t>{0, 0}, 1);
  ASSERT_TRUE(merged);
  auto const values = values_of_states(merged->view(), kRows, {sum_of_x()});
  ASSERT_FALSE(values);
  EXPECT_EQ(values.error().code(), ErrorCode::invalid_input);
}

}  // namespace
}  // namespace garuda::resolve
