// Rows of a column are ordered as the bytes of their values.
#include "keys/column_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "keys/numbering/mix.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/unwrap.hpp"

namespace garuda::keys {
namespace {

using Values = std::vector<std::optional<std::string>>;

/// Sorts the rows of `table` that have a value by the order of its only column, and compares with `values`, its values.
void expect_order(Table const& table, Values const& values) {
  // What an entry is not written to shows where it held something else before.
  {
    auto before = testing::value_of(AlignedBuffer::allocate(16 * table.num_rows()));
    std::memset(before.data(), 0xA5, static_cast<std::size_t>(before.size_bytes()));
  }
  auto const order = testing::value_of(ColumnOrder::create(table.view(), 0, {}));
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < values.size(); ++row)
    if (values[row]) rows.push_back(row);
  for (std::size_t row = 0; row < values.size(); ++row) {
    if (!values[row]) {
      ASSERT_EQ(static_cast<std::uint64_t>(order.entries()[row] >> 64), 0U) << row;
    }
  }
  auto expected = rows;
  auto const* const entries = order.entries();
  std::stable_sort(rows.begin(), rows.end(),
                   [&](std::size_t a, std::size_t b) { return order.is_less(entries[a], entries[b]); });
  std::stable_sort(expected.begin(), expected.end(),
                   [&](std::size_t a, std::size_t b) { return *values[a] < *values[b]; });
  EXPECT_EQ(rows, expected);
  for (auto const row : rows) {
    ASSERT_EQ(values[order.row_of(entries[row])], values[row]);
    ASSERT_TRUE(order.is_less(0, entries[row]) && order.is_less(entries[row], ~UInt128{0}));
    ASSERT_FALSE(order.is_less(entries[row], 0) || order.is_less(~UInt128{0}, entries[row]));
  }
}

TEST(ColumnOrder, DictionariesOfTheirBatches) {
  std::vector<reference::Column> const batches{
      reference::make_dictionary({1, 0, std::nullopt}, reference::make_strings({"b", "a"})),
      reference::make_dictionary({0, 1, 2, 3}, reference::make_strings({"\xC3\xA4", "", "b", "bbbbbbbbbb"}))};
  expect_order(reference::make_table("s", batches), {"a", "b", std::nullopt, "\xC3\xA4", "", "b", "bbbbbbbbbb"});
}

/// Strings that agree in much of what is compared first, some of them in all of it; in one batch and in two.
TEST(ColumnOrder, SimilarStrings) {
  Values values;
  for (std::size_t i = 0; i < 150'000; ++i) {
    auto const number = mix(i);
    auto text = std::string("the same beginning ");
    text.append(number % 3 == 0 ? std::string(40, 'x') : std::string(number % 5, '\0'));
    if (number % 7 != 0) text.append(std::to_string(number % 90'001));
    text.append(number % 13, number % 2 == 0 ? '\0' : '\xFF');
    values.push_back(number % 31 == 0 ? std::nullopt : std::optional(std::move(text)));
  }
  expect_order(reference::make_table("s", {reference::make_strings(values)}), values);
  Values short_ones;
  for (std::size_t i = 0; i < 40; ++i) short_ones.push_back(std::string("the same beginning").substr(0, i / 2));
  auto both = values;
  both.insert(both.end(), short_ones.begin(), short_ones.end());
  expect_order(reference::make_table("s", {reference::make_strings(values), reference::make_strings(short_ones)}),
               both);
}

TEST(ColumnOrder, StringsThatBeginWithEachOther) {
  Values values;
  for (std::size_t i = 0; i < 600; ++i) values.emplace_back(std::string(599 - i, 'a'));
  expect_order(reference::make_table("s", {reference::make_strings(values)}), values);
}

TEST(ColumnOrder, NothingToOrder) {
  expect_order(reference::make_table("s", {reference::make_strings({})}), {});
  expect_order(reference::make_table("s", {reference::make_strings({std::nullopt, std::nullopt})}),
               {std::nullopt, std::nullopt});
  expect_order(reference::make_table("s", {reference::make_strings({"equal", "equal"})}), {"equal", "equal"});
}

TEST(ColumnOrder, CanBeCancelled) {
  auto const table = reference::make_table("s", {reference::make_strings({"a"})});
  std::atomic<bool> const cancelled{true};
  Control control;
  control.cancelled = &cancelled;
  auto const order = ColumnOrder::create(table.view(), 0, control);
  ASSERT_FALSE(order);
  EXPECT_EQ(order.error().code(), ErrorCode::cancelled);
}

}  // namespace
}  // namespace garuda::keys
