// Strings and binary of every length around what is copied at once and what stands in a view, in and out of views.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/variable_value.hpp"
#include "operators/materialize/gather.hpp"
#include "operators/materialize/gather_rows.hpp"
#include "tests/core/foreign_arrow.hpp"
#include "tests/core/foreign_table.hpp"

namespace garuda {
namespace {

using namespace garuda::testing;  // NOLINT: the fixtures of this suite
using Cells = std::vector<std::optional<std::string>>;
using RowIds = std::vector<std::int64_t>;

constexpr std::array<std::size_t, 20> kLengths{0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 31, 32, 33, 64, 200};

Cells words(std::mt19937_64& random, std::size_t count, bool nulls) {
  Cells cells;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text(kLengths[random() % kLengths.size()], 'a');
    for (auto& letter : text) letter = static_cast<char>('a' + random() % 26);
    if (nulls && random() % 4 == 0)
      cells.emplace_back();
    else
      cells.emplace_back(std::move(text));
  }
  return cells;
}

Cells read(ArrayView const& array, DataType const& type) {
  Cells cells;
  for (std::int64_t i = 0; i < array.length; ++i) {
    if (array.is_null(i))
      cells.emplace_back();
    else
      cells.emplace_back(std::string(variable_value(array, value_layout(type), array.offset + i)));
  }
  return cells;
}

/// A table of strings in several batches, each a slice whose buffers end with its last value.
struct Source {
  ForeignTable foreign;
  std::array<Cells, 4> columns;
};

constexpr std::array<std::size_t, 4> kAll{0, 1, 2, 3};

Source source_of(std::mt19937_64& random, std::vector<std::size_t> const& sizes) {
  Source source;
  for (auto const size : sizes) {
    std::array<Cells, 4> batch;
    for (std::size_t c = 0; c < batch.size(); ++c) {
      batch[c] = words(random, size, c % 2 == 1);
      source.columns[c].insert(source.columns[c].end(), batch[c].begin(), batch[c].end());
    }
    auto const offset = static_cast<std::int64_t>(random() % 5);
    source.foreign.batches.push_back(std::make_unique<ForeignBatch>(
        foreign_text<std::int32_t>("a", "u", batch[0], offset), foreign_text<std::int32_t>("b", "z", batch[1], offset),
        foreign_text<std::int64_t>("c", "U", batch[2], offset), foreign_text<std::int64_t>("d", "Z", batch[3])));
  }
  source.foreign.table = import_all(source.foreign.batches);
  return source;
}

RowIds ids_of(std::mt19937_64& random, std::size_t count, std::size_t rows, bool nulls) {
  RowIds ids(count);
  for (auto& id : ids) id = nulls && random() % 7 == 0 ? -1 : static_cast<std::int64_t>(random() % rows);
  return ids;
}

Table gathered(TableView table, RowIds const& ids, StringForm strings, GatherLimits limits = {}) {
  auto const gatherer = Gatherer::create(table, kAll, strings, limits).value();
  std::vector<Batch> batches;
  for (std::span<std::int64_t const> rest(ids); !rest.empty();) {
    auto result = gatherer.gather(rest).value();
    rest = rest.subspan(static_cast<std::size_t>(result.rows_taken));
    batches.push_back(std::move(result.batch));
  }
  return {gatherer.schema(), std::move(batches)};
}

void expect_rows(Table const& table, std::array<Cells, 4> const& source, RowIds const& ids) {
  for (std::size_t c = 0; c < source.size(); ++c) {
    Cells expected;
    Cells actual;
    for (auto const id : ids) expected.push_back(id < 0 ? std::nullopt : source[c][static_cast<std::size_t>(id)]);
    for (auto const& batch : table.batches())
      for (auto& cell : read(batch.columns[c], table.schema()[c].type)) actual.push_back(std::move(cell));
    EXPECT_EQ(actual, expected) << table.schema()[c].name;
  }
}

bool is_released(Source const& source) {
  bool all = true;
  for (auto const& batch : source.foreign.batches) all = all && batch->arrays_released();
  return all;
}

class GatherStrings : public ::testing::TestWithParam<std::vector<std::size_t>> {};

TEST_P(GatherStrings, InEveryFormFromEveryForm) {
  std::mt19937_64 random(7);
  auto source = source_of(random, GetParam());
  auto const rows = source.columns[0].size();
  for (auto const nulls : {false, true}) {
    auto const ids = ids_of(random, 3'000, rows, nulls);
    expect_rows(gathered(source.foreign.table.view(), ids, StringForm::utf8), source.columns, ids);
    auto const views = gathered(source.foreign.table.view(), ids, StringForm::view);
    EXPECT_EQ(views.schema()[0].type.id, TypeId::utf8_view);
    EXPECT_EQ(views.schema()[1].type.id, TypeId::binary_view);
    expect_rows(views, source.columns, ids);

    RowIds back(ids.size());
    for (std::size_t i = 0; i < back.size(); ++i) back[i] = static_cast<std::int64_t>(back.size() - 1 - i);
    RowIds const reversed(ids.rbegin(), ids.rend());
    expect_rows(gathered(views.view(), back, StringForm::view), source.columns, reversed);
    expect_rows(gathered(views.view(), back, StringForm::utf8), source.columns, reversed);
    expect_rows(gathered(views.view(), back, StringForm::utf8, {.max_offset_32 = 5'000}), source.columns, reversed);
  }
}

INSTANTIATE_TEST_SUITE_P(Batches, GatherStrings,
                         ::testing::Values(std::vector<std::size_t>{1}, std::vector<std::size_t>{300},
                                           std::vector<std::size_t>{1, 90, 0, 2, 400}));

TEST(GatherStrings, OfNeighboursAndOfBlocksInOneBatch) {
  std::mt19937_64 random(8);
  constexpr auto kRows = static_cast<std::size_t>(2 * kGatherBlockRows);
  auto const source = source_of(random, {kRows, kRows / 2});
  RowIds ids;
  for (std::size_t i = 0; i < source.columns[0].size(); ++i) ids.push_back(static_cast<std::int64_t>(i));
  for (auto const form : {StringForm::utf8, StringForm::view}) {
    expect_rows(gathered(source.foreign.table.view(), ids, form), source.columns, ids);
    RowIds some;  // in order, with gaps; then mixed
    for (auto const id : ids)
      if (random() % 8 != 0) some.push_back(id);
    for (auto const id : ids_of(random, kRows, ids.size(), true)) some.push_back(id);
    expect_rows(gathered(source.foreign.table.view(), some, form), source.columns, some);
  }
}

TEST(GatherStrings, OwnFormOutlivesTheTable) {
  std::mt19937_64 random(9);
  auto source = source_of(random, {50, 60});
  auto const ids = ids_of(random, 500, 110, true);
  auto const copied = gathered(source.foreign.table.view(), ids, StringForm::utf8);
  source.foreign.table = Table();
  EXPECT_TRUE(is_released(source));
  expect_rows(copied, source.columns, ids);
}

TEST(GatherStrings, ViewsKeepTheTableAlive) {
  std::mt19937_64 random(10);
  auto source = source_of(random, {50, 60});
  auto const ids = ids_of(random, 500, 110, true);
  {
    auto views = gathered(source.foreign.table.view(), ids, StringForm::view);
    source.foreign.table = Table();
    EXPECT_FALSE(is_released(source));
    expect_rows(views, source.columns, ids);
    auto const again = gathered(views.view(), {0, 1, 2, 3}, StringForm::view);
    views = Table();
    expect_rows(again, source.columns, {ids[0], ids[1], ids[2], ids[3]});
  }
  EXPECT_TRUE(is_released(source));
}

TEST(GatherStrings, ShortValuesNeedNoTable) {
  auto const cells = Cells{"", "123456789012", std::nullopt, "x"};
  Source source;
  source.columns = {cells, cells, cells, cells};
  source.foreign.batches.push_back(std::make_unique<ForeignBatch>(
      foreign_text<std::int32_t>("a", "u", cells), foreign_text<std::int32_t>("b", "z", cells),
      foreign_text<std::int64_t>("c", "U", cells), foreign_text<std::int64_t>("d", "Z", cells)));
  source.foreign.table = import_all(source.foreign.batches);
  auto const views = gathered(source.foreign.table.view(), {3, 2, 1, 0, -1}, StringForm::view);
  for (auto const& column : views.batches()[0].columns)
    EXPECT_EQ(static_cast<ViewBuffers const*>(column.offsets)->count, 0);
  source.foreign.table = Table();
  EXPECT_TRUE(is_released(source));
  expect_rows(views, source.columns, {3, 2, 1, 0, -1});
}

/// Offsets of 64 bits reach further than those of views. The bytes lie in pages that nobody touches.
TEST(GatherStrings, ViewsOfValuesBeyondTheReachOfTheirOffsets) {
  constexpr std::int64_t kFar = (std::int64_t{2} << 30) + 77;
  auto buffer = AlignedBuffer::allocate(kFar + 40);
  if (!buffer) GTEST_SKIP() << buffer.error().describe();
  std::string const text = "a value of more than twelve bytes";
  std::memcpy(buffer->data() + kFar, text.data(), text.size());
  std::array<std::int64_t, 3> const offsets{kFar, kFar + static_cast<std::int64_t>(text.size()),
                                            kFar + static_cast<std::int64_t>(text.size())};
  ArrayView column;
  column.length = 2;
  column.null_count = 0;
  column.offsets = offsets.data();
  column.values = buffer->data();
  Schema const schema{{"s", {.id = TypeId::large_utf8}}};
  BatchView const batch{2, std::span(&column, 1)};
  std::array<std::size_t, 1> const first{0};
  auto const gatherer = Gatherer::create(TableView(schema, std::span(&batch, 1)), first, StringForm::view).value();
  auto const views = gatherer.gather(RowIds{1, 0}).value();
  EXPECT_EQ(read(views.batch.columns[0], gatherer.schema()[0].type), (Cells{"", text}));
}

TEST(GatherStrings, ValuesTooLongForViewsAreAnError) {
  std::array<std::int64_t, 2> const offsets{0, std::int64_t{1} << 31};
  std::array<char, 16> const bytes{};
  ArrayView column;
  column.length = 1;
  column.null_count = 0;
  column.offsets = offsets.data();
  column.values = bytes.data();
  Schema const schema{{"s", {.id = TypeId::large_binary}}};
  BatchView const batch{1, std::span(&column, 1)};
  std::array<std::size_t, 1> const first{0};
  auto const gatherer = Gatherer::create(TableView(schema, std::span(&batch, 1)), first, StringForm::view).value();
  auto const views = gatherer.gather(RowIds{0});
  ASSERT_FALSE(views);
  EXPECT_EQ(views.error().code(), ErrorCode::limit_exceeded);
}

}  // namespace
}  // namespace garuda
